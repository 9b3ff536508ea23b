import type { WorkloadState } from '../../domain/state/workload-state.ts';
import type { WorkloadKey } from '../../domain/workload/workload.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { isTransient } from '../../kube/retry-transient.ts';
import { type CheckpointOptions, CheckpointReader, type Loaded } from '../../model/ledger/checkpoint-reader.ts';
import type { LedgerKey } from '../../model/ledger/ledger-key.ts';
import { type ShardContent, shardRef } from '../../model/ledger/shard.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { LedgerReport } from '../report/ledger-report.ts';
import { keptWorkload } from './kept-workload.ts';
import { fitsShard, ShardWriter, shardOf } from './shard-writer.ts';

export interface CheckpointDeps extends CheckpointOptions, Pick<LedgerKey, 'mayStore'> {
  readonly clock: Clock;
  readonly states: () => ReadonlyMap<WorkloadKey, WorkloadState>;
  readonly mayWrite: () => boolean;
  /** Up to which version every event of each kind was received. */
  readonly heard: () => Required<Pick<ShardContent, 'seen' | 'told'>>;
  readonly report: Pick<
    LedgerReport,
    'checkpoint' | 'ledgerUnreadable' | 'ledgerWritten' | 'ledgerFailed' | 'ledgerKept'
  >;
}

const FLUSH_MS = 1000;
// Tells a later start how long no controller ran. Rare, because it costs a write when nothing else happens.
const HEARTBEAT_MS = 600_000;
// The chart grants as many by name; beyond that they grow.
export const MAX_SHARDS = 64;

/**
 * What was never rolled, and therefore stands on no workload: read at the start, and kept in ConfigMaps of our own namespace.
 *
 * Written at most once a second, and only where something changed; never for a rollout that carries its own record.
 */
export class Checkpoint extends CheckpointReader {
  readonly #deps: CheckpointDeps;
  #shards: ShardWriter[] = [];
  /** Shards that could say more than they do, and are written when there is time. */
  #outdated = new Set<number>();
  /** Written down as not yet rolled out. */
  readonly #coming = new Set<WorkloadKey>();
  #dirty = new Set<number>();
  #cancel: (() => void) | undefined;
  #flushing = Promise.resolve<KubeError | undefined>(undefined);
  #lastError: KubeError | undefined;
  #stopBeat: (() => void) | undefined;

  constructor(deps: CheckpointDeps) {
    super(deps);
    this.#deps = deps;
  }

  override async load(): Promise<Loaded> {
    const { client, namespace = '', report } = this.#deps;
    // A write of an earlier term may still be under way.
    await this.#flushing;
    const loaded = await super.load();
    this.#shards = this.versions.map((version, n) => new ShardWriter(client, shardRef(namespace, n), version));
    if (loaded.unreadable) report.ledgerUnreadable(loaded.unreadable);
    report.checkpoint(loaded.result);
    return loaded;
  }

  override forgetPast(): void {
    super.forgetPast();
    if (this.#dirty.size > 0) this.#arm(FLUSH_MS);
  }

  override gone(key: WorkloadKey): void {
    super.gone(key);
    this.#coming.delete(key);
    this.touch(key);
  }

  /**
   * Its pods are all replaced: worth a write where it was written down that they were not. A record says as much as is needed
   * for a while; then it is better to know more, but not worth a write of its own.
   */
  completed(key: WorkloadKey): void {
    if (this.#coming.delete(key)) this.touch(key);
    else this.#outdated.add(shardOf(key, this.#shards.length));
  }

  touch(key: WorkloadKey): void {
    if (this.#shards.length === 0) return;
    this.#dirty.add(shardOf(key, this.#shards.length));
    this.#arm(FLUSH_MS);
  }

  /** Writes everything once, so that from here on a loss can be told from a first start; then writes a heartbeat. */
  async establish(): Promise<void> {
    for (const n of this.#shards.keys()) this.#dirty.add(n);
    await this.flush();
    if (this.#lastError && isTransient(this.#lastError)) throw this.#lastError;
    if (!this.#stopBeat) this.#beat();
  }

  /** Writes down what is believed of a workload, and waits until it is there. Throws what keeps it from being written. */
  async keep(key: WorkloadKey): Promise<void> {
    if (this.#shards.length === 0) throw notKept(404, 'its own namespace is not known');
    this.#dirty.add(shardOf(key, this.#shards.length));
    const failure = await this.flush();
    if (failure) throw failure;
  }

  /** Resolves with what went wrong. */
  async flush(): Promise<KubeError | undefined> {
    this.#cancel?.();
    this.#cancel = undefined;
    // One after the other: of two at once the older text could be stored last.
    this.#flushing = this.#flushing.then(() => this.#write());
    return await this.#flushing;
  }

  /** The last write of a process: up to which version it received events. */
  async close(): Promise<void> {
    this.#addOutdated();
    await this.flush();
  }

  stop(): void {
    this.#cancel?.();
    this.#stopBeat?.();
  }

  #beat(): void {
    this.#stopBeat = this.#deps.clock.after(HEARTBEAT_MS, () => {
      this.#addOutdated();
      this.#arm(0);
      this.#beat();
    });
  }

  #addOutdated(): void {
    // The first shard says, for all of them, up to which version events were received.
    for (const n of [0, ...this.#outdated]) if (n < this.#shards.length) this.#dirty.add(n);
    this.#outdated = new Set();
  }

  #arm(ms: number): void {
    if (this.#cancel || !this.#deps.mayWrite()) return;
    this.#cancel = this.#deps.clock.after(ms, () => {
      this.#cancel = undefined;
      void this.flush();
    });
  }

  async #write(): Promise<KubeError | undefined> {
    if (!this.isForgotten || !this.#deps.mayWrite()) return notKept(503, 'another replica leads');
    if (this.#dirty.size === 0) return undefined;
    this.#lastError = undefined;
    const texts = this.#serialise();
    this.#dirty = new Set();
    // The first one last: it says how many there are, and then they have to be there.
    for (const [n, text] of [...texts].reverse()) {
      // Nor may it claim events that a shard which could not be written does not know of.
      if (n === 0 && this.#lastError) {
        this.#dirty.add(n);
        break;
      }
      try {
        await this.#shards[n]?.write(text, this.#deps.mayWrite);
        this.#deps.report.ledgerWritten();
      } catch (error) {
        this.#dirty.add(n);
        if (!KubeError.is(error)) throw error;
        this.#lastError = error;
        this.#deps.report.ledgerFailed(error);
      }
    }
    const failure = this.#lastError;
    if (!failure) {
      this.#deps.report.ledgerKept();
      return undefined;
    }
    // What the server refuses for good is tried again with the next heartbeat.
    this.#arm(isTransient(failure) ? Math.max(FLUSH_MS, failure.retryAfterMs ?? 0) : HEARTBEAT_MS);
    return failure;
  }

  /** The text of each shard that changed, by its number; grows the number of shards until each fits. */
  #serialise(): Map<number, string> {
    const { keyId, namespace, client } = this.#deps;
    const count = this.#shards.length;
    const changed = new Map([...this.#dirty].sort((a, b) => a - b).map((n) => [n, {} as ShardContent['workloads']]));
    this.#collect((key) => changed.get(shardOf(key, count)));
    const texts = new Map<number, string>();
    let fits = true;
    for (const [n, workloads] of changed) {
      const heard = this.#deps.heard();
      const content: ShardContent = { v: 1, key: keyId, alive: client.serverNow(), shards: count, ...heard, workloads };
      const text = JSON.stringify(content);
      texts.set(n, text);
      fits &&= fitsShard(text, content);
    }
    if (fits || namespace === undefined || count >= MAX_SHARDS) return texts;
    for (let n = count; n < count * 2; n += 1) this.#shards.push(new ShardWriter(client, shardRef(namespace, n)));
    for (const n of this.#shards.keys()) this.#dirty.add(n);
    return this.#serialise();
  }

  /** Puts what is worth keeping of each workload into its shard, unless that stays as it was written. */
  #collect(shardFor: (key: WorkloadKey) => ShardContent['workloads'] | undefined): void {
    const states = this.#deps.states();
    const { seen } = this.#deps.heard();
    for (const [key, state] of states) {
      const shard = shardFor(key);
      if (!shard) continue;
      const own = [...state.applied].filter(([id]) => this.#deps.mayStore(id));
      const applied = { ...this.awaitedOf(key, state.workload.uid), ...Object.fromEntries(own) };
      const kept = keptWorkload(state, applied, seen);
      if (!state.workload.isRolledOut) this.#coming.add(key);
      else if (kept.coming) this.#outdated.add(shardOf(key, this.#shards.length));
      if (Object.keys(applied).length > 0) shard[key] = kept;
    }
    for (const [key, entry] of this.entries) {
      const shard = shardFor(key);
      if (shard && !states.has(key)) shard[key] = entry;
    }
  }
}

const notKept = (status: number, detail: string): KubeError =>
  new KubeError({ verb: 'update', path: 'configmaps', status, reason: 'NotKept', detail });
