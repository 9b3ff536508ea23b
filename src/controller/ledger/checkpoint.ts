import type { KindName } from '../../api/kinds.ts';
import type { SourceKind } from '../../api/sources.ts';
import type { Applied, SourceId } from '../../domain/ledger/ledger.ts';
import type { WorkloadKey } from '../../domain/workload/workload.ts';
import type { KubeClient } from '../../kube/client.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { isTransient } from '../../kube/retry-transient.ts';
import type { FormerKey } from '../../model/ledger/former-key.ts';
import type { CheckpointEntry } from '../../model/ledger/ledger-past.ts';
import { keptWorkload, LedgerPast } from '../../model/ledger/ledger-past.ts';
import {
  fitsShard,
  type KeptWorkload,
  LedgerShard,
  type ShardContent,
  shardOf,
} from '../../model/ledger/ledger-shard.ts';
import type { WorkloadState } from '../../model/workload-state.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { LedgerReport } from '../report/ledger-report.ts';

export interface CheckpointDeps {
  readonly client: KubeClient;
  readonly clock: Clock;
  /** Our own; undefined when nobody told us: then nothing is kept. */
  readonly namespace: string | undefined;
  readonly keyId: string;
  readonly former?: FormerKey | undefined;
  /** Whether this source's fingerprint may be stored at all. */
  readonly mayStore: (id: SourceId) => boolean;
  readonly catchUpMaxMs: number;
  readonly states: () => ReadonlyMap<WorkloadKey, WorkloadState>;
  readonly mayWrite: () => boolean;
  /** How far we have heard of each kind. */
  readonly heard: () => Required<Pick<ShardContent, 'seen' | 'told'>>;
  readonly report: Pick<
    LedgerReport,
    'checkpoint' | 'ledgerUnreadable' | 'ledgerWritten' | 'ledgerFailed' | 'ledgerKept'
  >;
}

const FLUSH_MS = 1000;
// Tells a later start how long we were away. Rare, because it costs a write when nothing else happens.
const HEARTBEAT_MS = 600_000;
// The chart grants as many by name; beyond that they grow.
export const MAX_SHARDS = 64;
const READS_AT_ONCE = 8;

/**
 * What was never rolled, and therefore stands on no workload: kept in ConfigMaps of our own namespace.
 *
 * Written at most once a second, and only where something moved; never for a rollout that carries its own record.
 */
export class Checkpoint {
  readonly #deps: CheckpointDeps;
  #shards: LedgerShard[] = [];
  readonly #past = new LedgerPast();
  /** Shards that could say more than they do, and are written when there is time. */
  #outdated = new Set<number>();
  /** Written down as not yet rolled out. */
  readonly #coming = new Set<WorkloadKey>();
  #dirty = new Set<number>();
  #cancel: (() => void) | undefined;
  #flushing = Promise.resolve();
  #lastError: KubeError | undefined;
  #stopBeat: (() => void) | undefined;
  #believable = false;
  #aliveAt = 0;

  constructor(deps: CheckpointDeps) {
    this.#deps = deps;
  }

  get aliveAt(): number {
    return this.#aliveAt;
  }
  get believable(): boolean {
    return this.#believable;
  }

  seenOf(source: SourceKind, workload: KindName): number | undefined {
    return this.#past.seenOf(source, workload);
  }

  entry(key: WorkloadKey, uid: string): CheckpointEntry | undefined {
    return this.#past.entry(key, uid);
  }

  /** Reads what an earlier process, or the leader before us, left behind. */
  async load(): Promise<void> {
    const { namespace, client, keyId, catchUpMaxMs, report } = this.#deps;
    // A write of an earlier term may still be under way.
    await this.#flushing;
    this.#past.clear();
    this.#believable = false;
    if (namespace === undefined) return report.checkpoint('first-start');
    const first = new LedgerShard(client, namespace, 0);
    this.#shards = [first];
    const head = await this.#read(first);
    if (head === undefined) return report.checkpoint('first-start');
    if (head.key !== keyId) return report.checkpoint('other-key');
    const awayMs = Math.max(0, client.serverNow() - head.alive);
    if (awayMs >= catchUpMaxMs) return report.checkpoint('too-old');
    this.#aliveAt = head.alive;
    await this.#readFrom(head, namespace);
    this.#believable = true;
    report.checkpoint('found');
  }

  /** The first shard says how many there are; one that was written later, before somebody died, may know of more. */
  async #readFrom(head: ShardContent, namespace: string): Promise<void> {
    const { client, keyId } = this.#deps;
    this.#past.remember(head, head);
    for (let known = head.shards; this.#shards.length < known; ) {
      const from = this.#shards.length;
      const batch = Array.from(
        { length: Math.min(known - from, READS_AT_ONCE) },
        (_, n) => new LedgerShard(client, namespace, from + n),
      );
      this.#shards.push(...batch);
      for (const content of await Promise.all(batch.map((shard) => this.#read(shard)))) {
        if (content?.key !== keyId) continue;
        this.#past.remember(content, head);
        this.#aliveAt = Math.max(this.#aliveAt, content.alive);
        known = Math.max(known, content.shards);
      }
    }
  }

  /** The past has said all it knows, but for kinds that are still to come. */
  forgetPast(): void {
    this.#past.forget();
    if (this.#dirty.size > 0) this.#arm(FLUSH_MS);
  }

  /** A kind of workloads or sources is followed there, or everywhere. */
  awaits(kind: KindName | SourceKind, namespace = ''): void {
    this.#past.awaits(kind, namespace);
  }

  listed(kind: KindName | SourceKind, namespace = ''): void {
    if (this.#past.listed(kind, namespace)) this.forgetPast();
  }

  /** The workload is no more. */
  gone(key: WorkloadKey): void {
    this.#past.remove(key);
    this.#coming.delete(key);
    this.touch(key);
  }

  /**
   * Its pods are all replaced: worth a word where it was written down that they were not. A record says as much as is needed
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

  /** Writes everything once, so that from here on a loss can be told from a first start; then keeps the time. */
  async establish(): Promise<void> {
    for (const n of this.#shards.keys()) this.#dirty.add(n);
    await this.flush();
    if (this.#lastError && isTransient(this.#lastError)) throw this.#lastError;
    if (!this.#stopBeat) this.#beat();
  }

  async flush(): Promise<void> {
    this.#cancel?.();
    this.#cancel = undefined;
    // One after the other: of two at once the older text could be stored last.
    this.#flushing = this.#flushing.then(() => this.#write());
    await this.#flushing;
  }

  /** The last word: how far we have heard. */
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
    // The first one says how far we have heard.
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

  async #write(): Promise<void> {
    // Before it has been asked for all it knows, the past must not be written over.
    if (!this.#past.isForgotten || !this.#deps.mayWrite() || this.#dirty.size === 0) return;
    this.#lastError = undefined;
    const texts = this.#serialise();
    this.#dirty = new Set();
    // The first one last: it says how many there are, and then they have to be there.
    for (const [n, text] of [...texts].reverse()) {
      // Nor may it say how far we have heard where another does not know of it.
      if (n === 0 && this.#lastError) {
        this.#dirty.add(n);
        break;
      }
      try {
        await this.#shards[n]?.write(text, this.#deps.mayWrite);
        this.#deps.report.ledgerWritten();
      } catch (error) {
        this.#dirty.add(n);
        this.#failed(error);
      }
    }
    if (this.#lastError) this.#arm(againMs(this.#lastError));
    else this.#deps.report.ledgerKept();
  }

  /** The text of each shard that moved, by its number; grows the number of shards until each fits. */
  #serialise(): Map<number, string> {
    const { keyId, namespace, client } = this.#deps;
    const count = this.#shards.length;
    const moved = new Map([...this.#dirty].sort((a, b) => a - b).map((n) => [n, {} as ShardContent['workloads']]));
    for (const [key, entry] of this.#kept((candidate) => moved.has(shardOf(candidate, count)))) {
      const shard = moved.get(shardOf(key, count));
      if (shard) shard[key] = entry;
    }
    const texts = new Map<number, string>();
    let fits = true;
    for (const [n, workloads] of moved) {
      const heard = this.#deps.heard();
      const content: ShardContent = { v: 1, key: keyId, alive: client.serverNow(), shards: count, ...heard, workloads };
      const text = JSON.stringify(content);
      texts.set(n, text);
      fits &&= fitsShard(text, content);
    }
    if (fits || namespace === undefined || count >= MAX_SHARDS) return texts;
    for (let n = count; n < count * 2; n += 1) this.#shards.push(new LedgerShard(client, namespace, n));
    for (const n of this.#shards.keys()) this.#dirty.add(n);
    return this.#serialise();
  }

  /** What is worth keeping of the workloads that are meant. */
  *#kept(isMeant: (key: string) => boolean): Generator<readonly [string, KeptWorkload]> {
    const states = this.#deps.states();
    const { seen } = this.#deps.heard();
    for (const [key, state] of states) {
      if (!isMeant(key)) continue;
      const applied = this.#storable(key, state);
      const kept = keptWorkload(state, applied, seen);
      if (!state.workload.isRolledOut) this.#coming.add(key);
      else if (kept.coming) this.#outdated.add(shardOf(key, this.#shards.length));
      if (Object.keys(applied).length > 0) yield [key, kept];
    }
    for (const [key, entry] of this.#past.entries) if (!states.has(key) && isMeant(key)) yield [key, entry];
  }

  #storable(key: WorkloadKey, state: WorkloadState): Readonly<Record<SourceId, Applied>> {
    const own = [...state.applied].filter(([id]) => this.#deps.mayStore(id));
    return { ...this.#past.awaitedOf(key, state.workload.uid), ...Object.fromEntries(own) };
  }

  async #read(shard: LedgerShard): Promise<ShardContent | undefined> {
    try {
      const content = await shard.read();
      return content && (this.#deps.former?.shard(content) ?? content);
    } catch (error) {
      if (!KubeError.is(error) || isTransient(error)) throw error;
      this.#deps.report.ledgerUnreadable(error);
      return undefined;
    }
  }

  /** Whatever it was, it is tried again: soon, or seldom where the server refuses for good. */
  #failed(error: unknown): void {
    if (!KubeError.is(error)) throw error;
    this.#lastError = error;
    this.#deps.report.ledgerFailed(error);
  }
}

/** What the server refuses for good is tried again with the next heartbeat. */
const againMs = (error: KubeError): number =>
  isTransient(error) ? Math.max(FLUSH_MS, error.retryAfterMs ?? 0) : HEARTBEAT_MS;
