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

/** The text in one of the checkpoint's ConfigMaps. */
export interface ShardContent {
  readonly v: 1;
  /** Names the key of the fingerprints. */
  readonly key: string;
  /** When it was written, in milliseconds: tells a later start how long no controller ran. */
  readonly alive: number;
  /** How many there are. */
  readonly shards: number;
  /**
   * For each kind of source the resource version up to which every event had been received. In the first shard, which is
   * written after all others, it holds for them too.
   */
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

/** Undefined if it does not exist. */
export async function readShard(client: KubeClient, ref: ShardRef) {
  try {
    const { metadata, data } = await client.get<DataObject>(CONFIG_MAPS, ref);
    return { content: parseShard(data?.['ledger']), resourceVersion: metadata.resourceVersion };
  } catch (error) {
    if (KubeError.is(error) && error.status === 404) return undefined;
    throw error;
  }
}

/** Undefined if it is damaged, or of a version that we do not know. An entry that is damaged is left out. */
function parseShard(text: string | undefined): ShardContent | undefined {
  const content = objectIn(parsed(text));
  const { v, key, alive, workloads, seen, told } = content;
  const isOurs = v === 1 && typeof key === 'string' && typeof alive === 'number' && typeof workloads === 'object';
  if (!isOurs || !isVersions(seen) || !isVersions(told)) return undefined;
  const entries = Object.entries(objectIn(workloads)).filter(([, entry]) => isEntry(objectIn(entry)));
  return { ...content, workloads: Object.fromEntries(entries) } as unknown as ShardContent;
}

const isEntry = (entry: JsonObject): boolean =>
  isKept(entry) &&
  isApplied(entry['applied']) &&
  isVersions(entry['seen']) &&
  isSecond(entry['reloadedAt']) &&
  (entry['restart'] === undefined || isRestart(entry['restart']));

const isSecond = (value: unknown): boolean => value === undefined || typeof value === 'number';

const isVersions = (value: unknown): boolean =>
  value === undefined || Object.values(objectIn(value)).every((version) => typeof version === 'number');

function parsed(text = ''): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
