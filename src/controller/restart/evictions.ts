import { objectAt } from '../../api/json.ts';
import { kindNamed, type WorkloadKind } from '../../api/kinds.ts';
import type { KubeObject } from '../../api/objects.ts';
import { UNKNOWN } from '../../domain/ledger/applied.ts';
import { brings, type KeptChange, type Restart } from '../../domain/ledger/restart.ts';
import { refOf, type SourceId } from '../../domain/ledger/source-id.ts';
import type { Change } from '../../domain/outcome/change.ts';
import { leftOf, nextEviction } from '../../domain/plan/next-eviction.ts';
import type { EvictPlan } from '../../domain/plan/plan.ts';
import type { RestartProgress } from '../../domain/reloader-config/status-facts.ts';
import type { SourcePast } from '../../domain/state/source-past.ts';
import type { WorkloadState } from '../../domain/state/workload-state.ts';
import { selectorText } from '../../domain/text/selector.ts';
import { type Availability, availabilityOf } from '../../domain/workload/availability.ts';
import type { Pod } from '../../domain/workload/pod.ts';
import { type WorkloadKey, type WorkloadRef, workloadKey } from '../../domain/workload/workload.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { isTransient } from '../../kube/retry-transient.ts';
import type { KeyedQueue } from '../../runtime/queue.ts';
import type { Engine } from '../engine/engine.ts';
import type { Written } from '../write/act.ts';
import type { PodWatchDeps } from './pod-watch.ts';
import { RunningRestart } from './running-restart.ts';
import { finalWord, isTwoBudgets, notWrittenDown, stopped } from './stopped.ts';

export interface EvictionsDeps extends Omit<PodWatchDeps, 'moved'> {
  readonly engine: Pick<Engine, 'states' | 'nextVersions' | 'verdicts'>;
  readonly queue: Pick<KeyedQueue<WorkloadKey>, 'add' | 'schedule'>;
  readonly checkpoint: {
    /** Writes down what is believed of a workload, and waits until it is there. */
    keep(key: WorkloadKey): Promise<void>;
    touch(key: WorkloadKey): void;
  };
  readonly sources: Pick<SourcePast, 'current'>;
  readonly mayStore: (id: SourceId) => boolean;
  readonly mayWrite: () => boolean;
}

/** Nothing is settled yet. The key comes again by itself. */
export type NotYet = 'not-yet';

// Pods are watched. Only what they do not tell, such as the status of the workload or a budget, has to be asked for.
const LOOK_AGAIN_MS = { least: 1000, most: 10_000 };

/**
 * Replaces the pods of workloads by evicting them, and leaves their templates alone. Nothing holds on between two steps: each
 * looks at what is kept and at what there is, evicts one pod at most, and returns.
 */
export class Evictions {
  readonly #deps: EvictionsDeps;
  readonly #running = new Map<WorkloadKey, RunningRestart>();
  /** Counts terms. */
  #term = 0;
  #progressed: (key: WorkloadKey) => void = () => {};

  constructor(deps: EvictionsDeps) {
    this.#deps = deps;
  }

  progress(key: WorkloadKey): RestartProgress | undefined {
    return this.#running.get(key)?.progress;
  }

  /** The listener is told when a restart has got on, or waits for something else. */
  onProgress(listener: (key: WorkloadKey) => void): void {
    this.#progressed = listener;
  }

  async step(state: WorkloadState, { changes, now }: EvictPlan): Promise<Written | NotYet> {
    const { ref, uid } = state.workload;
    const kind = kindNamed(ref.kind) as WorkloadKind;
    const term = this.#term;
    const object = await this.#deps.client.get<KubeObject>(kind, ref);
    // From here on it can be closed when the term ends.
    if (term !== this.#term) return 'not-yet';
    if (object.metadata.uid !== uid) {
      throw new KubeError({ verb: 'get', path: `${kind.plural}/${ref.name}`, status: 409, reason: 'Conflict' });
    }
    const running = this.#runningOf(state, kind, object);
    const isBegun = changes.every((change) => brings(state.reloads.restart, change));
    if (!isBegun) await this.#begin(state, running, changes, now);
    const { restart } = state.reloads;
    const pods = await running.pods();
    // Closed: the term has ended meanwhile, or nobody asks any more.
    if (!restart || !pods || running.watch.isClosed) return 'not-yet';
    const availability = availabilityOf(kind, object);
    const { isOwn, evicted } = running;
    const facts = { pods, isOwn, evicted, availability, now: this.#deps.client.serverNow() };
    const next = nextEviction(restart, facts);
    running.told(restart, pods, next.do === 'wait' ? next.message : undefined);
    if (next.do === 'done') return this.#done(state, restart);
    if (next.do === 'evict' && this.#isStillAsked(state, changes)) await this.#evict(state, running, next.pod);
    else if (next.do === 'wait' && next.for === 'recover')
      this.#mustRecover(state, running, availability, next.message);
    if (running.isNews) this.#progressed(workloadKey(ref));
    this.#lookAgain(state, running);
    return 'not-yet';
  }

  /** Nothing is to be evicted now. Whatever is kept, the pods need not be watched. */
  rest(state: WorkloadState): void {
    const key = workloadKey(state.workload.ref);
    this.#running.get(key)?.close();
    this.#running.delete(key);
  }

  /** Nobody asks any more for what it is about. */
  drop(state: WorkloadState): void {
    this.rest(state);
    const ids = Object.keys(state.reloads.restart?.changes ?? {}) as SourceId[];
    // What has to be read first may be what it is about.
    const { ref } = state.workload;
    if (ids.some((id) => this.#deps.sources.current(refOf(id, ref.namespace)) === UNKNOWN)) return;
    if (state.reloads.restartEnded()) this.#deps.checkpoint.touch(workloadKey(ref));
  }

  /** The term is over: what has begun, the next leader goes on with. */
  stop(): void {
    this.#term += 1;
    for (const running of this.#running.values()) running.close();
    this.#running.clear();
  }

  #runningOf(state: WorkloadState, kind: WorkloadKind, object: KubeObject): RunningRestart {
    const { ref, uid } = state.workload;
    const key = workloadKey(ref);
    const known = this.#running.get(key);
    if (known?.isAbout(uid)) return known;
    known?.close();
    const labelSelector = selectorText(objectAt(object, ['spec'])['selector']);
    const scope = { namespace: ref.namespace, ...(labelSelector !== '' && { labelSelector }) };
    const moved = (): void => {
      running.waits = 0;
      this.#deps.queue.add(key);
    };
    const running: RunningRestart = new RunningRestart({ ...this.#deps, moved }, kind, uid, scope);
    this.#running.set(key, running);
    void this.#untilGone(state, running);
    return running;
  }

  /** Its pods may stay where they are when it goes, and tell nothing any more. */
  async #untilGone(state: WorkloadState, running: RunningRestart): Promise<void> {
    const { states, nextVersions } = this.#deps.engine;
    const key = workloadKey(state.workload.ref);
    while (states.get(key) === state && !running.watch.isClosed) await nextVersions.of(state);
    if (this.#running.get(key) === running) this.rest(state);
  }

  /** Counts the pods that are to go, and writes down which they are, before anything happens to them. */
  async #begin(state: WorkloadState, running: RunningRestart, changes: readonly Change[], now: number): Promise<void> {
    const { ref } = state.workload;
    if (!changes.every(({ id }) => this.#deps.mayStore(id))) {
      throw notWrittenDown(
        ref,
        'it may say nothing about Secrets',
        'grant get and create on secrets in the own namespace',
      );
    }
    const alive = await running.counted();
    if (running.watch.isClosed) return;
    const before = state.reloads.restart;
    const had = new Map(state.applied);
    const restart = restartOf(before, running, alive, { changes, at: Math.floor(now / 1000) });
    state.restarting(restart);
    try {
      await this.#deps.checkpoint.keep(workloadKey(ref));
    } catch (error) {
      // In another term the ledger has had its say already.
      if (state.reloads.restart === restart) state.notRestarting(before, had);
      if (!KubeError.is(error) || isTransient(error)) throw error;
      throw notWrittenDown(ref, `it cannot be written (${error.message})`, OWN_CURE);
    }
  }

  /** Somebody may ask no more for what it is about, or in another way, since the server was asked. */
  #isStillAsked({ workload, waiting }: WorkloadState, changes: readonly Change[]): boolean {
    const open = changes.filter(({ id }) => waiting.has(id));
    const isAsSaid = ({ ref, verdict }: Change): boolean => {
      const now = this.#deps.engine.verdicts.of(workload, ref);
      return now.reload && now.ask.overrides.rolloutStrategy === verdict.ask.overrides.rolloutStrategy;
    };
    return open.length > 0 && open.every(isAsSaid);
  }

  async #evict(state: WorkloadState, running: RunningRestart, { name, uid }: Pod): Promise<void> {
    const { client, checkpoint, mayWrite } = this.#deps;
    const { ref } = state.workload;
    running.availableAt = client.serverNow();
    // The term may have ended while the server was asked.
    if (!mayWrite()) return;
    try {
      await client.evict({ namespace: ref.namespace, name }, uid);
    } catch (error) {
      if (!KubeError.is(error)) throw error;
      return this.#notEvicted(ref, running, name, error);
    }
    running.evicted.add(uid);
    running.waits = 0;
    const { restart } = state.reloads;
    if (restart) state.reloads.restarting({ ...restart, evictedAt: Math.floor(client.serverNow() / 1000) });
    checkpoint.touch(workloadKey(ref));
  }

  /** Throws what waiting does not help against. */
  #notEvicted(ref: WorkloadRef, running: RunningRestart, pod: string, error: KubeError): void {
    const { status, detail, reason } = error;
    if (status === 403 || isTwoBudgets(error)) throw running.stopped(finalWord(ref, pod, error));
    // Its budget has none to spare, which changes with the pods. Any other answer leaves open what has become of it.
    if (status === 429) running.tell(`pod ${pod} waits: ${detail ?? reason}`);
    else running.doubt();
    if (status !== 404 && status !== 409 && status !== 429) throw error;
  }

  /** Throws if that takes too long: another pod must not go, and somebody has to know. */
  #mustRecover(state: WorkloadState, running: RunningRestart, { deadlineMs }: Availability, message: string): void {
    const { ref } = state.workload;
    const { at = 0, evictedAt = 0, pods = 0 } = state.reloads.restart ?? {};
    const since = Math.max(at * 1000, evictedAt * 1000, running.availableAt);
    if (this.#deps.client.serverNow() - since < deadlineMs) return;
    const left = running.progress?.left ?? 0;
    const waited = `it did not become available ${evictedAt > 0 ? 'again ' : ''}within ${deadlineMs / 1000} s (${message})`;
    throw running.stopped(
      stopped(ref, `${waited}: ${left} of ${pods} pods are left and no other is evicted until it is`),
    );
  }

  #done(state: WorkloadState, { version, pods }: Restart): Written {
    this.rest(state);
    state.ran({ after: version, upTo: version });
    return { job: undefined, seq: state.seq + 1, isRecorded: false, evicted: pods };
  }

  #lookAgain({ workload }: WorkloadState, running: RunningRestart): void {
    const { clock, queue } = this.#deps;
    const waitMs = Math.min(LOOK_AGAIN_MS.least * 2 ** running.waits, LOOK_AGAIN_MS.most);
    running.waits += 1;
    queue.schedule(workloadKey(workload.ref), clock.now() + waitMs);
  }
}

const OWN_CURE = 'grant get, create and update on configmaps in the own namespace, and set POD_NAMESPACE to it';

/** The restart as it is from now on: with those that are there already, and all that run now. */
function restartOf(
  before: Restart | undefined,
  { watch }: RunningRestart,
  alive: readonly Pod[],
  { changes, at }: { readonly changes: readonly Change[]; readonly at: number },
): Restart {
  const left = before ? leftOf(before, watch.pods ?? []).map(({ uid }) => uid) : [];
  const known = new Set(before?.uids);
  const uids = new Set([...left, ...alive.map(({ uid }) => uid)]);
  const added = alive.filter(({ uid }) => !known.has(uid)).length;
  const kept = changes.map(({ id, current, since }): [SourceId, KeptChange] => [id, [current, since]]);
  return {
    at,
    version: watch.listedAt,
    pods: (before?.pods ?? 0) + added,
    uids: [...uids],
    ...(before?.evictedAt !== undefined && { evictedAt: before.evictedAt }),
    changes: Object.fromEntries(kept),
  };
}
