import type { KindName } from '../../api/kinds.ts';
import type { SourceKind } from '../../api/sources.ts';
import type { Applied } from '../../domain/ledger/applied.ts';
import type { SourceId } from '../../domain/ledger/source-id.ts';
import type { WorkloadKey } from '../../domain/workload/workload.ts';
import type { KubeClient } from '../../kube/client.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { isTransient } from '../../kube/retry-transient.ts';
import type { LedgerKey } from './ledger-key.ts';
import {
  type CheckpointEntry,
  type FoundShard,
  type KeptWorkload,
  MAX_SHARDS,
  readShard,
  type ShardContent,
  shardRef,
} from './shard.ts';

export interface CheckpointOptions extends Pick<LedgerKey, 'keyId' | 'former' | 'digest'> {
  readonly client: KubeClient;
  /** Attune's own; undefined if it is not known: then there is no checkpoint. */
  readonly namespace: string | undefined;
  readonly catchUpMaxMs: number;
}

/** What became of reading the checkpoint. */
export interface Loaded {
  readonly result: 'found' | 'first-start' | 'other-format' | 'other-key' | 'too-old';
  /** Shards that could not be read, or not be believed, while others could: only what they held is missing. */
  readonly lost: readonly string[];
  /** The server refused one of them. */
  readonly unreadable: KubeError | undefined;
}

/** What was found under the name of one shard. */
interface Place {
  readonly name: string;
  /** Undefined: there is none, or the server refused it. */
  readonly found?: FoundShard | undefined;
  /** It was written with the former key, which put workloads into other shards. */
  readonly isConverted?: boolean;
  readonly resourceVersion?: string | undefined;
  readonly refused?: KubeError | undefined;
}

/** How far a shard's writer had heard of things when it was known to hold all of them. */
interface Horizon {
  readonly alive: number;
  readonly seen?: Versions | undefined;
  readonly told: Versions;
}

/** A shard, and how far it goes. A workload whose place it is, and which is not in it, had no entry when it was written. */
interface Word {
  readonly n: number;
  /** Undefined: it is lost, and the first shard knows how far it went. */
  readonly content: ShardContent | undefined;
  readonly isConverted: boolean;
  readonly edition: number;
  readonly horizon: Horizon;
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
  protected entries = new Map<WorkloadKey, KeptWorkload>();
  /** The resource version of each shard that is to be written; undefined: it does not exist, or is not known. */
  versions: readonly (string | undefined)[] = [];
  /** Before it has been asked for all it knows, the past must not be overwritten. */
  protected isForgotten = false;
  /** Of the text that was made last. */
  protected edition = 0;
  /** By the number of a shard: workloads that it holds although they belong into another one. */
  protected misplaced: ReadonlyMap<number, ReadonlySet<WorkloadKey>> = new Map();
  readonly #awaited = new Set<string>();
  /** A number of 32 bits for each workload: made with the key, so that nobody can choose names that share a shard. */
  readonly #places = new Map<WorkloadKey, number>();
  #words: readonly Word[] = [];
  /** How far all of it goes: holds for workloads whose shard is lost. */
  #leastHorizon: Horizon | undefined;

  constructor(options: CheckpointOptions) {
    this.#options = options;
  }

  /** When the shard of a workload was written last, in milliseconds of the server's time. */
  aliveAt(key: WorkloadKey): number {
    return this.#horizonFor(key)?.alive ?? 0;
  }

  /** Up to which version every event of a kind of source had been received then, and of the kind of the workload too. */
  seenOf(source: SourceKind, key: WorkloadKey): number | undefined {
    const { seen, told } = this.#horizonFor(key) ?? {};
    return seen?.[source] && Math.min(seen[source], told?.[kindOf(key)] ?? Number.POSITIVE_INFINITY);
  }

  entry(key: WorkloadKey, uid: string): CheckpointEntry | undefined {
    const entry = this.entries.get(key);
    return entry?.uid === uid ? entry : undefined;
  }

  /** Reads what an earlier process, or the leader before us, left behind. */
  async load(): Promise<Loaded> {
    this.entries.clear();
    this.isForgotten = false;
    this.misplaced = new Map();
    this.#places.clear();
    this.#words = [];
    this.#leastHorizon = undefined;
    const places = await this.#readAll();
    this.versions = writtenPlaces(places).map(({ resourceVersion }) => resourceVersion);
    const result = this.#resultOf(places);
    this.believable = result === 'found';
    const expected = places.slice(0, countIn(places));
    const lost = this.believable ? this.#remember(expected) : [];
    return { result, lost, unreadable: expected.find(({ refused }) => refused)?.refused };
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
    this.#places.delete(key);
    if (this.isForgotten) this.entries.delete(key);
  }

  /** The shard of a workload. The same in every process, or each start would write everything anew. */
  protected numberOf(key: WorkloadKey, count: number): number {
    let place = this.#places.get(key);
    if (place === undefined) {
      place = Number.parseInt(this.#options.digest.text(`shard of ${key}`).slice(0, 8), 16);
      this.#places.set(key, place);
    }
    return place % count;
  }

  /**
   * Reads on until twice as many places are known as there should be shards: one that was written just before its writer died
   * may be the only one that knows of more, and the first one may be lost.
   */
  async #readAll(): Promise<readonly Place[]> {
    const { namespace } = this.#options;
    if (namespace === undefined) return [{ name: '' }];
    const places: Place[] = [];
    while (places.length < MAX_SHARDS && places.length < 2 * countIn(places)) {
      const numbers = Array.from({ length: READS_AT_ONCE }, (_, n) => places.length + n);
      places.push(...(await Promise.all(numbers.map((n) => this.#read(namespace, n)))));
    }
    return places;
  }

  async #read(namespace: string, n: number): Promise<Place> {
    const { client, former } = this.#options;
    const ref = shardRef(namespace, n);
    try {
      const { found, resourceVersion } = (await readShard(client, ref)) ?? {};
      const readable = typeof found === 'object' ? (former?.shard(found) ?? found) : found;
      return { name: ref.name, found: readable, isConverted: readable !== found, resourceVersion };
    } catch (error) {
      if (!KubeError.is(error) || isTransient(error)) throw error;
      return { name: ref.name, refused: error };
    }
  }

  #resultOf(places: readonly Place[]): Loaded['result'] {
    const { client, keyId, catchUpMaxMs } = this.#options;
    const found = places.flatMap((place) => place.found ?? []);
    const contents = contentsOf(places);
    const alive = contents.filter(({ key }) => key === keyId).map((content) => content.alive);
    if (alive.length > 0) {
      // Any of them tells that a controller ran.
      return Math.max(0, client.serverNow() - Math.max(...alive)) >= catchUpMaxMs ? 'too-old' : 'found';
    }
    if (contents.length > 0) return 'other-key';
    return found.includes('other-format') ? 'other-format' : 'first-start';
  }

  /** Takes the entries of all shards, each as far as its own word goes. Gives the names of those that are lost. */
  #remember(places: readonly Place[]): readonly string[] {
    const ours = places.map((place) => ({ ...place, content: this.#oursIn(place) }));
    const words = ours.flatMap(({ content, resourceVersion, isConverted = false }, n): Word[] => {
      const horizon = horizonOf(content, heldBy(ours[0]?.content, n, content && resourceVersion));
      return horizon ? [{ n, content, isConverted, edition: content?.edition ?? 0, horizon }] : [];
    });
    this.#leastHorizon = words.map(({ horizon }) => horizon).reduce(earlierHorizon);
    // The newest first. A shard of the former key says nothing of what is not in it: workloads had other places then.
    this.#words = words
      .filter(({ content, isConverted }) => content && !isConverted)
      .sort((one, other) => other.edition - one.edition);
    this.edition = Math.max(0, ...words.map(({ edition }) => edition));
    this.#takeEntries(words);
    // While their number grows, what a new one is to hold is still in the one that it is split off from.
    const isElsewhere = (n: number): boolean =>
      ours.some(({ content }, other) => content && content.shards <= n && n % content.shards === other);
    const isLost = (n: number): boolean => !ours[n]?.content && !isElsewhere(n);
    return ours.flatMap(({ name }, n) => (isLost(n) ? [name] : []));
  }

  #takeEntries(words: readonly Word[]): void {
    const rows = words.flatMap((word) =>
      (Object.entries(word.content?.workloads ?? {}) as [WorkloadKey, KeptWorkload][]).map(([key, kept]) => ({
        key,
        kept,
        word,
      })),
    );
    // While their number grows an entry is in two shards: the text that was made later knows more.
    rows.sort((one, other) => one.word.edition - other.word.edition);
    for (const { key, kept, word } of rows) {
      // One that is left over from a larger number of shards may still hold what was taken out of the ledger since.
      if ((this.#wordFor(key)?.edition ?? 0) > word.edition) continue;
      this.entries.set(key, withHorizon(key, kept, word.horizon));
    }
    const strays = rows.filter(({ key, word }) => this.numberOf(key, this.versions.length) !== word.n);
    const byShard = Map.groupBy(strays, ({ word }) => word.n);
    this.misplaced = new Map([...byShard].map(([n, own]) => [n, new Set(own.map(({ key }) => key))]));
  }

  #horizonFor(key: WorkloadKey): Horizon | undefined {
    return this.#wordFor(key)?.horizon ?? this.#leastHorizon;
  }

  /** The newest word of those shards whose place it is or was. */
  #wordFor(key: WorkloadKey): Word | undefined {
    return this.#words.find(({ n, content }) => content && this.numberOf(key, content.shards) === n);
  }

  #oursIn({ found }: Place): ShardContent | undefined {
    return typeof found === 'object' && found.key === this.#options.keyId ? found : undefined;
  }

  #isAwaited(kind: string, key: string): boolean {
    const [, namespace = ''] = key.split('/');
    return this.#awaited.has(`${kind}/`) || this.#awaited.has(`${kind}/${namespace}`);
  }
}

/** By kind. */
type Versions = Readonly<Record<string, number>>;

const contentsOf = (places: readonly Place[]): readonly ShardContent[] =>
  places.flatMap(({ found }) => (typeof found === 'object' ? [found] : []));

/** How many shards there should be, by what any of them says. */
const countIn = (places: readonly Place[]): number => Math.max(1, ...contentsOf(places).map(({ shards }) => shards));

/** Those that are written: as many as there are without a gap. More come by growing, which fills gaps. */
function writtenPlaces(places: readonly Place[]): readonly Place[] {
  const isThere = ({ resourceVersion, refused }: Place): boolean =>
    resourceVersion !== undefined || refused !== undefined;
  let count = countIn(places);
  while (count > 1 && !places.slice(0, count).every(isThere)) count /= 2;
  return places.slice(0, count);
}

/** The first shard, if its word holds for this one as well; of one that is lost (without a version) it may still know. */
function heldBy(first: ShardContent | undefined, n: number, version: string | undefined): ShardContent | undefined {
  const held = first?.holds?.[n];
  return held !== undefined && (version === undefined || version === held) ? first : undefined;
}

function horizonOf(own: ShardContent | undefined, holder: ShardContent | undefined): Horizon | undefined {
  const word = own ?? holder;
  if (!word) return undefined;
  const { alive, seen, told = {} } = word;
  if (!holder) return { alive, seen, told };
  return {
    alive: Math.max(alive, holder.alive),
    seen: seen && laterOf(seen, holder.seen),
    told: laterOf(told, holder.told),
  };
}

const earlierHorizon = (one: Horizon, other: Horizon): Horizon => ({
  alive: Math.min(one.alive, other.alive),
  seen: one.seen && other.seen && earlierOf(one.seen, other.seen),
  // A kind of workloads that one of them does not mention was not followed then.
  told: { ...one.told, ...other.told, ...earlierOf(one.told, other.told) },
});

/** What an entry says is so up to where both the kind of the source and the kind of the workload had been heard of. */
function withHorizon(key: string, entry: KeptWorkload, { seen, told }: Horizon): KeptWorkload {
  const toldUpTo = told[kindOf(key)] ?? Number.POSITIVE_INFINITY;
  return { ...(seen && { seen: mapped(seen, (version) => Math.min(version, toldUpTo)) }), ...entry };
}

const mapped = (versions: Versions, to: (version: number, kind: string) => number): Versions =>
  Object.fromEntries(Object.entries(versions).map(([kind, version]) => [kind, to(version, kind)]));

const laterOf = (one: Versions, other: Versions = {}): Versions => ({
  ...other,
  ...mapped(one, (version, kind) => Math.max(version, other[kind] ?? 0)),
});

/** Of a kind that one of them does not mention nothing is known. */
const earlierOf = (one: Versions, other: Versions): Versions =>
  Object.fromEntries(
    Object.entries(one).flatMap(([kind, version]) => {
      const another = other[kind];
      return another === undefined ? [] : [[kind, Math.min(version, another)]];
    }),
  );

/** Of a workload's key or a source's id. */
const kindOf = (key: string): string => key.slice(0, key.indexOf('/'));
