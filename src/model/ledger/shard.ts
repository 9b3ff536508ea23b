import { type JsonObject, objectIn } from '../../api/json.ts';
import type { KindName } from '../../api/kinds.ts';
import type { DataObject } from '../../api/objects.ts';
import { CONFIG_MAPS } from '../../api/resources.ts';
import type { SourceKind } from '../../api/sources.ts';
import type { Applied } from '../../domain/ledger/applied.ts';
import { isApplied, isKept, type KeptTemplates } from '../../domain/ledger/record.ts';
import { isRestart, type Restart } from '../../domain/ledger/restart.ts';
import type { SourceId } from '../../domain/ledger/source-id.ts';
import type { KubeClient } from '../../kube/client.ts';
import { KubeError } from '../../kube/kube-error.ts';

/** The chart grants as many by name. There are 1, 2, 4 … of them, and more when they are full. */
export const MAX_SHARDS = 64;

export const SHARD_FORMAT = 2;

/** The text in one of the checkpoint's ConfigMaps. */
export interface ShardContent {
  readonly v: typeof SHARD_FORMAT;
  /** Names the key of the fingerprints. */
  readonly key: string;
  /** When it was written, in milliseconds: tells a later start how long no controller ran. */
  readonly alive: number;
  /** How many there are. */
  readonly shards: number;
  /** Texts are counted: of two that speak of a workload, the one that was made later counts, whichever arrived later. */
  readonly edition?: number;
  /**
   * In the first shard: others that its `alive`, `seen` and `told` hold for as well, by number, each with the resource version
   * of its text. One write then says of all of them that nothing moved. A shard that could not be written is not among them.
   */
  readonly holds?: Readonly<Record<string, string>>;
  /** For each kind of source the resource version up to which every event had been received. */
  readonly seen?: Readonly<Partial<Record<SourceKind, number>>>;
  /** The same for each kind of workload: after a gap one watch is complete again before another. */
  readonly told?: Readonly<Partial<Record<KindName, number>>>;
  readonly workloads: Record<string, KeptWorkload>;
}

/** What the checkpoint says about one workload. */
export interface CheckpointEntry extends Partial<KeptTemplates> {
  /** Number of the newest record that the writer knew. */
  readonly seq: number;
  readonly applied: Readonly<Partial<Record<SourceId, Applied>>>;
  /** As it was when this was written, like the templates. */
  readonly revision?: string | undefined;
  /** Pods were still being replaced: what changed afterwards is in some of them. */
  readonly coming?: true | undefined;
  /** For each kind of source the version up to which every event had been received. */
  readonly seen?: Readonly<Partial<Record<SourceKind, number>>> | undefined;
  /** Second of our last reload, by the server's clock. A record has its own. */
  readonly reloadedAt?: number | undefined;
  /** Pods that were being evicted. */
  readonly restart?: Restart | undefined;
  /** Not all sources are mentioned: what is missing had nothing waiting. */
  readonly partial?: true | undefined;
}

/** The same as it is stored. `seen` only where it is older than the shard's: of a kind that could not be listed since. */
export interface KeptWorkload extends CheckpointEntry {
  readonly uid: string;
  readonly applied: Readonly<Record<SourceId, Applied>>;
}

export type ShardRef = ReturnType<typeof shardRef>;

export const shardRef = (namespace: string, n: number) => ({ namespace, name: `attune-ledger-${n}` });

/** What is in a ConfigMap of the checkpoint, unless it is damaged or written in another format. */
export type FoundShard = ShardContent | 'other-format' | 'damaged';

/** Undefined if it does not exist. */
export async function readShard(client: KubeClient, ref: ShardRef) {
  try {
    const { metadata, data } = await client.get<DataObject>(CONFIG_MAPS, ref);
    return { found: parseShard(data?.['ledger']), resourceVersion: metadata.resourceVersion };
  } catch (error) {
    if (KubeError.is(error) && error.status === 404) return undefined;
    throw error;
  }
}

/** An entry that is damaged is left out. */
function parseShard(text: string | undefined): FoundShard {
  const content = objectIn(parsed(text));
  const { v, key, alive, shards, edition, workloads, seen, told, holds } = content;
  if (typeof v === 'number' && v !== SHARD_FORMAT) return 'other-format';
  const isOurs = v === SHARD_FORMAT && typeof key === 'string' && typeof alive === 'number' && isCount(shards);
  const isWhole =
    typeof workloads === 'object' && isNumber(edition) && isVersions(seen) && isVersions(told) && isNames(holds);
  if (!isOurs || !isWhole) return 'damaged';
  const entries = Object.entries(objectIn(workloads)).filter(([, entry]) => isEntry(objectIn(entry)));
  return { ...content, workloads: Object.fromEntries(entries) } as unknown as ShardContent;
}

const isCount = (value: unknown): boolean =>
  typeof value === 'number' && value >= 1 && value <= MAX_SHARDS && Number.isInteger(Math.log2(value));

const isNames = (value: unknown): boolean =>
  value === undefined || Object.values(objectIn(value)).every((version) => typeof version === 'string');

const isEntry = (entry: JsonObject): boolean =>
  isKept(entry) &&
  isApplied(entry['applied']) &&
  isVersions(entry['seen']) &&
  isNumber(entry['reloadedAt']) &&
  (entry['restart'] === undefined || isRestart(entry['restart']));

const isNumber = (value: unknown): boolean => value === undefined || typeof value === 'number';

const isVersions = (value: unknown): boolean =>
  value === undefined || Object.values(objectIn(value)).every((version) => typeof version === 'number');

function parsed(text = ''): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
