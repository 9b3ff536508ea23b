import type { SourceRef } from '../../api/sources.ts';
import type { Verdict } from '../../domain/judge/verdict.ts';
import { type Applied, UNKNOWN } from '../../domain/ledger/applied.ts';
import type { SourceId } from '../../domain/ledger/source-id.ts';
import { nextRevision } from '../../domain/workload/rollout.ts';
import { type Workload, type WorkloadKey, workloadKey } from '../../domain/workload/workload.ts';
import { concernsOf, staysOpen } from '../../model/concerns.ts';
import { Runs } from '../../model/ledger/runs.ts';
import type { SourceChange } from '../../model/sources/source-history.ts';
import { Verdicts } from '../../model/verdicts.ts';
import {
  forgetOtherLooks,
  lookOf,
  looksAlike,
  missedLooks,
  newState,
  type Renewal,
  remember,
  sourceId,
  type WorkloadState,
} from '../../model/workload-state.ts';
import { Beliefs } from './beliefs.ts';
import type { EngineDeps } from './engine-deps.ts';
import { OpenChanges } from './open-changes.ts';
import { OtherWriters } from './other-writers.ts';

/**
 * How a workload's newest object reached us. `list`: as it was found, whatever happened to it before; `watch`: at the
 * very moment of the change; `write`: the same, in the answer to our own request.
 */
type Origin = 'list' | 'watch' | 'write';

/**
 * Knows for every workload what its pods run with, and marks it due when that is no longer what its sources hold.
 *
 * It decides nothing and writes nothing: the rules are the domain's, the writing is `reconcile`'s. Until `begin` it only
 * collects, because the beliefs about the past need everything that was listed.
 */
export class Engine {
  readonly states = new Map<WorkloadKey, WorkloadState>();
  readonly verdicts: Verdicts;
  readonly open: OpenChanges;
  readonly #runs = new Runs();
  readonly #deps: EngineDeps;
  readonly #others: OtherWriters;
  readonly #beliefs: Beliefs;
  #begun = false;
  #seen = 0;

  constructor(deps: EngineDeps) {
    this.#deps = deps;
    this.#others = new OtherWriters(deps);
    this.#beliefs = new Beliefs(deps, this.#others, this.#runs);
    this.verdicts = new Verdicts(deps, this.states);
    this.open = new OpenChanges(deps, this.#others);
  }

  /** The newest moment of the server's time that we know of: what we write now comes after it. */
  get seen(): number {
    return this.#seen;
  }

  /** A source was seen to be, to have changed, or to be gone. */
  sourceChanged(ref: SourceRef, turn: SourceChange, version: number): void {
    this.#seen = Math.max(this.#seen, version);
    if (!this.#begun) return;
    const { graph, inScope, want, report } = this.#deps;
    if (!inScope(ref.namespace)) return;
    if (turn.unseenFrom !== undefined) this.#lostSight(ref, turn.unseenFrom);
    if (turn.before === turn.after && !turn.flagsMoved && turn.unseenFrom === undefined) {
      if (turn.after === UNKNOWN && graph.isWanted(ref)) want(ref);
      return;
    }
    const rolled: [WorkloadState, Verdict][] = [];
    for (const key of graph.dependents(ref)) {
      const state = this.states.get(key);
      if (!state) continue;
      const verdict = this.verdicts.of(state, ref);
      rolled.push([state, verdict]);
      this.open.consider(state, ref, verdict, () => this.#beliefs.atChange(state, ref, { turn, version }));
    }
    if (turn.before !== turn.after && !turn.isRead) report.sourceChanged(ref, turn, rolled);
  }

  /** Nobody knows what a source held for a while: nor what pods began with that were made then. */
  #lostSight(ref: SourceRef, from: number): void {
    for (const key of this.#deps.graph.dependents(ref)) {
      const state = this.states.get(key);
      if (state) this.#others.lostSight(state, ref, from);
    }
  }

  /** `told`: with a listing, up to which version everything that happened to its kind had been told before. */
  workloadSeen(workload: Workload, origin: Origin, told = 0): void {
    this.#seen = Math.max(this.#seen, Number(workload.resourceVersion));
    const key = workloadKey(workload.ref);
    const known = this.states.get(key);
    if (known?.workload.uid === workload.uid) {
      if (Number(known.workload.resourceVersion) >= Number(workload.resourceVersion)) return;
      this.#renew(known, workload, origin, told);
      return;
    }
    // The answer to a write comes after the news that the object is gone: it brings nobody back.
    if (origin === 'write') return;
    if (known) this.workloadGone(key);
    const version = Number(workload.resourceVersion);
    const state = newState(workload, origin === 'list' ? undefined : version, told);
    this.states.set(key, state);
    this.#enter(state);
    // A kind may be listed long after the start, of workloads or of sources: what the past says is still true.
    if (this.#begun && origin === 'list' && this.#beliefs.knows(workload)) {
      this.#beliefs.recall(state);
      this.#meet(state, undefined);
    } else if (this.#begun) {
      if (origin === 'list') this.#others.found(state, { after: told, upTo: version });
      this.#meet(state, version, origin === 'list');
    }
    this.runSeen(workload, state.born);
  }

  /** Our write is settled. What came while it was under way, a source's change or another writer's, counts from now on. */
  wrote(state: WorkloadState): void {
    this.#others.noticeRevert(state);
    this.#meet(state, Number(state.workload.resourceVersion));
  }

  /** We started a Job from a CronJob, at this moment. */
  ran(cronJob: WorkloadState, version: number): void {
    this.#others.ran(cronJob, { after: version, upTo: version });
  }

  /** A Job may tell that it was started for changes of data, by us or by another leader; `born` as in its state. */
  runSeen(job: Workload, born: number | undefined): void {
    const key = this.#runs.note(job);
    const cronJob = key && this.states.get(key);
    const record = cronJob && this.#beliefs.recordOf(cronJob.workload);
    if (!this.#begun || !record || record.seq < cronJob.seq) return;
    const when = born === undefined ? this.#beliefs.renewalBy(cronJob.workload, record) : { after: born, upTo: born };
    this.#others.ran(cronJob, when);
    this.#meet(cronJob, born ?? Number(cronJob.workload.resourceVersion));
  }

  workloadGone(key: WorkloadKey): void {
    const state = this.states.get(key);
    if (!state) return;
    this.states.delete(key);
    this.verdicts.leave(state);
    this.#runs.forget(key);
    this.#deps.queue.remove(key);
    this.#deps.checkpoint.gone(key);
    this.#deps.report.forget(state.workload);
  }

  /** Everything is listed and read: settle what each workload runs with, and from now on follow. */
  begin(): void {
    this.#begun = true;
    this.#beliefs.begin();
    for (const state of this.states.values()) {
      if (state.born === undefined) this.#beliefs.recall(state);
      this.#meet(state, state.born);
    }
  }

  /** A new leader took over: look at everything once more. */
  reconsider(): void {
    this.#reconsider(Number.POSITIVE_INFINITY);
  }

  /** A namespace came into scope or left it, at a moment of the server's time: what changes from then on counts. */
  namespaceChanged(namespace: string, version: number): void {
    this.#reconsider(version, namespace);
  }

  #reconsider(version: number, namespace?: string): void {
    if (!this.#begun) return;
    for (const [key, state] of this.states) {
      if (namespace !== undefined && state.workload.ref.namespace !== namespace) continue;
      this.#adoptCheckpoint(key, state);
      this.#meet(state, Math.max(version, state.since));
      if (state.waiting.size > 0) this.open.schedule(key, state);
    }
  }

  /** The bytes of every source that some workload would roll for, and that nobody has read yet. */
  *unread(): Generator<SourceRef> {
    for (const state of this.states.values()) {
      for (const ref of concernsOf(this.#deps, state)) {
        if (this.#deps.sources.current(ref) === UNKNOWN && staysOpen(this.verdicts.of(state, ref))) yield ref;
      }
    }
  }

  /** A newer version of a workload that we know. */
  #renew(state: WorkloadState, workload: Workload, origin: Origin, told: number): void {
    const before = state.workload;
    const version = Number(workload.resourceVersion);
    // What a listing shows may have happened at any moment since we last looked; the first is the safe one.
    const moment = origin === 'list' ? Math.max(told, Number(before.resourceVersion)) + 1 : version;
    state.workload = workload;
    if (before.isRolledOut && !workload.isRolledOut) state.coming = { from: moment - 1, to: Number.POSITIVE_INFINITY };
    const isComplete = !before.isRolledOut && workload.isRolledOut;
    if (isComplete) {
      state.coming = { ...state.coming, to: version };
      this.#deps.checkpoint.completed(workloadKey(workload.ref));
    }
    for (const waiter of state.waiters.splice(0)) waiter();
    // The parser hands the same intent and references back while only status moved.
    const isSpec = before.intent !== workload.intent || before.references !== workload.references;
    if (isSpec) this.#respecified(state, before, origin, moment);
    if (isComplete) forgetOtherLooks(state);
    if (isSpec && this.#begun) this.#meet(state, moment);
  }

  #respecified(state: WorkloadState, before: Workload, origin: Origin, moment: number): void {
    const { workload } = state;
    if (!looksAlike(before, workload)) this.#moved(state, moment, origin);
    this.#enter(state);
    if (!this.#begun) remember(state.looks, lookOf(workload, moment - 1));
    else if (before.fullTemplateDigest !== workload.fullTemplateDigest)
      this.#templateMoved(state, before, origin, moment);
    // There and back again, while nobody looked.
    else if (origin === 'list' && ![before.revision, state.revisionDue].includes(workload.revision))
      this.#others.leftUnseen(state, moment - 1);
  }

  /** The template is another one now. Whose hand it was: ours, that of another leader, or somebody else's. */
  #templateMoved(state: WorkloadState, before: Workload, origin: Origin, moment: number): void {
    const news = this.#beliefs.news(state);
    const version = Number(state.workload.resourceVersion);
    const after = origin === 'list' ? Math.max(moment - 1, news?.seen ?? -1) : version;
    const when: Renewal = { after, upTo: version, base: origin === 'list' ? before.revision : undefined };
    this.#others.templateMoved(state, { before, when, isOurs: origin === 'write' || news !== undefined });
    if (origin === 'list') missedLooks(state, moment - 1);
    const { revision } = state.workload;
    state.revisionDue = revision === before.revision ? nextRevision(revision, true) : undefined;
  }

  /** A workload takes its place; the owner of a template that it borrowed may have to be looked at again. */
  #enter(state: WorkloadState): void {
    const owner = this.verdicts.enter(state);
    if (owner && this.#begun) this.#meet(owner, Number(state.workload.resourceVersion));
  }

  /** Goes through all that concerns a workload, as of a moment of the server's time; undefined: as the past left it. */
  #meet(state: WorkloadState, version: number | undefined, isListed = false): void {
    const news = this.#beliefs.news(state);
    const concerned = new Set<SourceId>();
    const remembered = version === undefined ? this.#beliefs.sourcesOf(state.workload) : undefined;
    for (const ref of concernsOf(this.#deps, state, remembered)) {
      const verdict = this.verdicts.of(state, ref);
      if (!staysOpen(verdict)) continue;
      concerned.add(sourceId(ref));
      this.#adopt(state, sourceId(ref), news?.sources[sourceId(ref)]);
      this.open.consider(state, ref, verdict, () => {
        if (version === undefined) return this.#beliefs.about(state, ref);
        const then = this.#beliefs.at(ref, version);
        return isListed ? this.#beliefs.whenFound(state, ref, then) : then;
      });
    }
    if (news) state.seq = news.seq;
    for (const id of state.applied.keys()) if (!concerned.has(id)) this.open.forget(state, id);
    const { workload } = state;
    const { problems } = workload.intent;
    if (problems.length > 0 && this.#deps.inScope(workload.ref.namespace)) {
      this.#deps.report.tell({ is: 'invalid', workload, problems });
    }
  }

  /** The leader before us settled things that stand on no object; its number is then higher than ours. */
  #adoptCheckpoint(key: WorkloadKey, state: WorkloadState): void {
    const entry = this.#deps.checkpoint.entry(key, state.workload.uid);
    if (!entry || entry.seq <= state.seq) return;
    for (const id of state.applied.keys()) this.#adopt(state, id, entry.applied[id]);
    state.seq = entry.seq;
  }

  /** Another writer, usually the leader before us, recorded what it did. */
  #adopt(state: WorkloadState, id: SourceId, applied: Applied | undefined): void {
    if (applied !== undefined && state.applied.has(id)) state.applied.set(id, applied);
  }

  /** Its template or annotations are others: what could not be written as it was may go now. */
  #moved(state: WorkloadState, moment: number, origin: Origin): void {
    const key = workloadKey(state.workload.ref);
    state.since = moment;
    if (origin === 'write' || (!this.#deps.queue.release(key) && !state.held)) return;
    state.held = false;
    if (state.waiting.size > 0) this.open.schedule(key, state);
  }
}
