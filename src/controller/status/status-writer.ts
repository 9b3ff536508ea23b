import { objectIn } from '../../api/json.ts';
import type { KubeObject } from '../../api/objects.ts';
import type { ReloaderConfigStatus } from '../../api/reloader-config/status-fields.ts';
import { RELOADER_CONFIGS } from '../../api/resources.ts';
import type { ConfigKey } from '../../domain/reloader-config/config.ts';
import { conditionsIn, foreignHashes, withoutFields } from '../../domain/reloader-config/said-status.ts';
import { statusOf } from '../../domain/reloader-config/status.ts';
import type { StatusFacts } from '../../domain/reloader-config/status-facts.ts';
import type { KubeClient } from '../../kube/client.ts';
import { KubeError } from '../../kube/kube-error.ts';
import type { Clock } from '../../runtime/clock.ts';
import { KeyedQueue, type RetryHint } from '../../runtime/queue.ts';
import { runWorkers } from '../../runtime/worker.ts';
import { isRefusal, setbackOf } from '../write/setback.ts';
import type { SeenConfig } from './seen-config.ts';

export interface StatusWriterDeps {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly mayWrite: () => boolean;
  /** Paths of fields that the installed definition does not have: the server refuses to apply them. */
  readonly pruned: () => readonly string[];
  readonly report: {
    statusRefused(error: KubeError): void;
    statusFailed(key: ConfigKey, error: unknown): void;
  };
}

type WithStatus = KubeObject & { readonly status?: unknown };

/** What is known of a config now; undefined: it is gone. */
type Facts = (key: ConfigKey) => { readonly seen: SeenConfig; readonly facts: StatusFacts } | undefined;

/** As other controllers do in a status, under our own name: what we no longer say goes. */
const STATUS_MANAGER = 'attune';
// What is touched is looked at after a moment, so that a listing of thousands is one look.
const LOOK_MS = 100;
const WRITE_EVERY_MS = 5000;
// Reloads, Available and Degraded are told at once; what moves them again and again waits as well.
const URGENT_EVERY_MS = 1000;
const WORKERS = 4;

/** Looks at configs that were touched, and writes what their objects do not say yet: seldom, as nothing is decided by it. */
export class StatusWriter {
  readonly #deps: StatusWriterDeps;
  readonly #facts: Facts;
  readonly #queue: KeyedQueue<ConfigKey>;

  constructor(deps: StatusWriterDeps, facts: Facts) {
    this.#deps = deps;
    this.#facts = facts;
    this.#queue = new KeyedQueue<ConfigKey>({ clock: deps.clock });
    deps.client.onRecovery((lastedMs) => this.#queue.forgive(deps.clock.now() - lastedMs));
  }

  /** There may be something to say; soon, where it may be urgent. */
  touch(key: ConfigKey, seen: SeenConfig, isSoon: boolean): void {
    const now = this.#deps.clock.now();
    seen.touchedAt ??= now;
    this.#plan(key, isSoon ? now + LOOK_MS : seen.touchedAt + WRITE_EVERY_MS);
  }

  /** A newer version was seen: what was refused for the one before may go. True if it waited for that. */
  release(key: ConfigKey): boolean {
    return this.#queue.release(key);
  }

  forget(key: ConfigKey): void {
    this.#queue.remove(key);
  }

  async run(term: AbortSignal): Promise<void> {
    const handle = (key: ConfigKey): Promise<void> => this.#look(key);
    const failed = (key: ConfigKey, error: unknown): void => this.#failed(key, error);
    await runWorkers(this.#queue, { workers: WORKERS, clock: this.#deps.clock, handle, failed }, term);
  }

  /** Not later than that. */
  #plan(key: ConfigKey, at: number): void {
    if (at < (this.#queue.dueAt(key) ?? Number.POSITIVE_INFINITY)) this.#queue.schedule(key, at);
  }

  async #look(key: ConfigKey): Promise<void> {
    const { clock, pruned, mayWrite } = this.#deps;
    const found = this.#facts(key);
    if (!found) return;
    const { seen, facts } = found;
    seen.touchedAt ??= clock.now();
    this.#lookAgainWhenOver(key, facts);
    const status = withoutFields(statusOf(facts), pruned());
    const due = mayWrite() ? this.#dueAt(seen, status) : clock.now() + WRITE_EVERY_MS;
    if (due !== undefined && due > clock.now()) return this.#plan(key, due);
    const since = seen.touchedAt;
    const { sinceRecall: reloads } = seen.tally;
    // What comes while it is written is looked at afterwards.
    seen.touchedAt = undefined;
    if (due === undefined) return;
    try {
      await this.#write(seen, status);
      seen.writtenReloads = reloads;
    } catch (error) {
      seen.touchedAt = since;
      throw error;
    }
  }

  /** Undefined: the object says it already. */
  #dueAt(seen: SeenConfig, status: ReloaderConfigStatus): number | undefined {
    if (!seen.isNews(status)) return undefined;
    if (seen.hasNewReload || isUrgent(seen.said, status)) return seen.writtenAt + URGENT_EVERY_MS;
    const isNewSpec = objectIn(seen.said)['observedGeneration'] !== status.observedGeneration;
    const since = isNewSpec ? seen.writtenAt : Math.max(seen.writtenAt, seen.touchedAt ?? 0);
    return since + WRITE_EVERY_MS;
  }

  /** Cooldowns end by themselves. */
  #lookAgainWhenOver(key: ConfigKey, { targets, now }: StatusFacts): void {
    const ends = targets.flatMap((each) => (each.is === 'present' ? (each.cooldownEnd ?? []) : []));
    if (ends.length > 0) this.#plan(key, this.#deps.clock.now() + Math.max(0, Math.min(...ends) - now) + LOOK_MS);
  }

  async #write(seen: SeenConfig, status: ReloaderConfigStatus): Promise<void> {
    const { client, clock } = this.#deps;
    const { ref, resourceVersion } = seen;
    const { group, version, kind } = RELOADER_CONFIGS;
    // With the version that we know: a leader that was frozen meanwhile writes over nothing.
    const body = { apiVersion: `${group}/${version}`, kind, metadata: { ...ref, resourceVersion }, status };
    const options = { type: 'apply', subresource: 'status', fieldManager: STATUS_MANAGER, force: true } as const;
    const applied = await client.patch<WithStatus>(RELOADER_CONFIGS, ref, body, options);
    const answer = seen.isCleared ? applied : await this.#clear(seen, status, applied);
    seen.isCleared = true;
    seen.writtenAt = clock.now();
    seen.written(status, answer.metadata.resourceVersion, answer.status);
  }

  /**
   * Hashes that another program left: they have no key, so that whoever reads them can guess at Secrets. Once, for that program
   * may still run.
   */
  async #clear({ ref }: SeenConfig, status: ReloaderConfigStatus, applied: WithStatus): Promise<WithStatus> {
    const left = foreignHashes(applied.status, status);
    if (left.length === 0) return applied;
    const { resourceVersion } = applied.metadata;
    const watchedResourceHashes = Object.fromEntries(left.map((key) => [key, null]));
    const body = { metadata: { resourceVersion }, status: { watchedResourceHashes } };
    const options = { type: 'merge', subresource: 'status', fieldManager: STATUS_MANAGER } as const;
    return await this.#deps.client.patch<WithStatus>(RELOADER_CONFIGS, ref, body, options);
  }

  #failed(key: ConfigKey, error: unknown): void {
    const { report } = this.#deps;
    if (!KubeError.is(error)) {
      report.statusFailed(key, error);
      this.#again(key);
      return;
    }
    // The watch brings who was first, or that it is gone.
    const isPassing = error.status === 404 || error.status === 409;
    if (!isPassing && isRefusal(error)) report.statusRefused(error);
    this.#again(key, { ...setbackOf(error), isRefusal: !isPassing && isRefusal(error) });
  }

  /** Not only when a cooldown is over, for which it was planned before it was written. */
  #again(key: ConfigKey, hint?: RetryHint): void {
    this.#queue.schedule(key, this.#queue.retry(key, hint));
  }
}

/** Whether somebody may wait for this, or has to know. */
function isUrgent(said: unknown, { conditions = [] }: ReloaderConfigStatus): boolean {
  const before = conditionsIn(said);
  return conditions.some(
    ({ type, status }) => type !== 'Progressing' && before.find((each) => each.type === type)?.status !== status,
  );
}
