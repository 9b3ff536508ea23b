import type { KindName } from '../../api/kinds.ts';
import type { SourceKind } from '../../api/sources.ts';
import type { Applied } from '../../domain/ledger/applied.ts';
import type { SourceId } from '../../domain/ledger/source-id.ts';
import type { WorkloadKey } from '../../domain/workload/workload.ts';
import type { KubeClient } from '../../kube/client.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { isTransient } from '../../kube/retry-transient.ts';
import type { LedgerKey } from './ledger-key.ts';
import { type CheckpointEntry, type KeptWorkload, readShard, type ShardContent, shardRef } from './shard.ts';

export interface CheckpointOptions extends Pick<LedgerKey, 'keyId' | 'former'> {
  readonly client: KubeClient;
  /** Attune's own; undefined if it is not known: then there is no checkpoint. */
  readonly namespace: string | undefined;
  readonly catchUpMaxMs: number;
}

/** What became of reading the checkpoint. `unreadable`: the server refused a part of it. */
export interface Loaded {
  readonly result: 'found' | 'first-start' | 'other-key' | 'too-old';
  readonly unreadable: KubeError | undefined;
}

const READS_AT_ONCE = 8;

/**
 * What an earlier process left in the checkpoint. Entries stay until everything that they speak of has been listed: a kind
 * that is followed, but cannot be listed yet, is awaited.
 */
export class CheckpointReader {
  readonly #options: CheckpointOptions;
  /** False on a first start, after a loss, or after too long an absence: then nothing from the past is believed. */
  believable = false;
  /** When it was last written, in milliseconds of the server's time. */
  aliveAt = 0;
  protected entries = new Map<WorkloadKey, KeptWorkload>();
  /** The resource version of each shard as it was read; undefined: there is none yet. */
  versions: (string | undefined)[] = [];
  /** Before it has been asked for all it knows, the past must not be overwritten. */
  protected isForgotten = false;
  readonly #awaited = new Set<string>();
  #head: ShardContent | undefined;
  #unreadable: KubeError | undefined;

  constructor(options: CheckpointOptions) {
    this.#options = options;
  }

  /** Up to which version every event of a kind of source had been received, and of the kind of the workload too. */
  seenOf(source: SourceKind, workload: KindName): number | undefined {
    const { seen, told } = this.#head ?? {};
    return seen?.[source] && Math.min(seen[source], told?.[workload] ?? Number.POSITIVE_INFINITY);
  }

  entry(key: WorkloadKey, uid: string): CheckpointEntry | undefined {
    const entry = this.entries.get(key);
    return entry?.uid === uid ? entry : undefined;
  }

  /** Reads what an earlier process, or the leader before us, left behind. */
  async load(): Promise<Loaded> {
    this.entries.clear();
    this.isForgotten = false;
    this.#head = undefined;
    this.versions = [];
    this.#unreadable = undefined;
    this.believable = false;
    const result = await this.#readAll();
    this.believable = result === 'found';
    return { result, unreadable: this.#unreadable };
  }

  /** What it says about sources of kinds that are awaited. */
  awaitedOf(key: WorkloadKey, uid: string): Record<SourceId, Applied> {
    const applied = Object.entries(this.entry(key, uid)?.applied ?? {}) as [SourceId, Applied][];
    return Object.fromEntries(applied.filter(([id]) => this.#isAwaited(kindOf(id), key)));
  }

  /** A kind of workloads or sources is followed there, or everywhere. */
  awaits(kind: KindName | SourceKind, namespace = ''): void {
    this.#awaited.add(`${kind}/${namespace}`);
  }

  listed(kind: KindName | SourceKind, namespace = ''): void {
    if (this.#awaited.delete(`${kind}/${namespace}`) && this.isForgotten) this.forgetPast();
  }

  /** It has been asked for all it knows, but for kinds that are awaited. */
  forgetPast(): void {
    this.isForgotten = true;
    const isAwaited = ([key, { applied }]: readonly [WorkloadKey, KeptWorkload]) =>
      this.#isAwaited(kindOf(key), key) || Object.keys(applied).some((id) => this.#isAwaited(kindOf(id), key));
    this.entries = new Map([...this.entries].filter(isAwaited));
  }

  gone(key: WorkloadKey): void {
    if (this.isForgotten) this.entries.delete(key);
  }

  async #readAll(): Promise<Loaded['result']> {
    const { namespace, client, keyId, catchUpMaxMs } = this.#options;
    if (namespace === undefined) return 'first-start';
    const [head] = await this.#readNext(namespace, 1);
    if (!head) return 'first-start';
    if (head.key !== keyId) return 'other-key';
    if (Math.max(0, client.serverNow() - head.alive) >= catchUpMaxMs) return 'too-old';
    this.#head = head;
    this.aliveAt = head.alive;
    this.#remember(head, head);
    // The first shard says how many there are; one that was written later, just before its writer died, may know of more.
    for (let known = head.shards; this.versions.length < known; ) {
      const count = Math.min(known - this.versions.length, READS_AT_ONCE);
      for (const content of await this.#readNext(namespace, count)) {
        if (content?.key !== keyId) continue;
        this.#remember(content, head);
        this.aliveAt = Math.max(this.aliveAt, content.alive);
        known = Math.max(known, content.shards);
      }
    }
    return 'found';
  }

  async #readNext(namespace: string, count: number): Promise<readonly (ShardContent | undefined)[]> {
    const from = this.versions.length;
    const numbers = Array.from({ length: count }, (_, n) => from + n);
    const { client, former } = this.#options;
    const refused = (error: unknown): undefined => {
      if (!KubeError.is(error) || isTransient(error)) throw error;
      this.#unreadable ??= error;
    };
    const shards = await Promise.all(numbers.map((n) => readShard(client, shardRef(namespace, n)).catch(refused)));
    this.versions.push(...shards.map((shard) => shard?.resourceVersion));
    return shards.map((shard) => shard?.content && (former?.shard(shard.content) ?? shard.content));
  }

  #remember(content: ShardContent, head: ShardContent): void {
    const seen = content.seen && laterOf(content.seen, head.seen);
    const told = laterOf(content.told ?? {}, head.told);
    for (const [key, entry] of Object.entries(content.workloads)) {
      const horizon = told[kindOf(key)] ?? Number.POSITIVE_INFINITY;
      const known = seen && mapped(seen, (version) => Math.min(version, horizon));
      this.entries.set(key as WorkloadKey, { ...(known && { seen: known }), ...entry });
    }
  }

  #isAwaited(kind: string, key: string): boolean {
    const [, namespace = ''] = key.split('/');
    return this.#awaited.has(`${kind}/`) || this.#awaited.has(`${kind}/${namespace}`);
  }
}

/** By kind. */
type Versions = Readonly<Record<string, number>>;

const mapped = (versions: Versions, to: (version: number, kind: string) => number): Versions =>
  Object.fromEntries(Object.entries(versions).map(([kind, version]) => [kind, to(version, kind)]));

const laterOf = (one: Versions, other: Versions = {}): Versions =>
  mapped(one, (version, kind) => Math.max(version, other[kind] ?? 0));

/** Of a workload's key or a source's id. */
const kindOf = (key: string): string => key.slice(0, key.indexOf('/'));
