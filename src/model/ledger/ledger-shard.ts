import type { KindName } from '../../api/kinds.ts';
import type { DataObject } from '../../api/objects.ts';
import { CONFIG_MAPS } from '../../api/resources.ts';
import type { SourceKind } from '../../api/sources.ts';
import type { Applied } from '../../domain/ledger/applied.ts';
import type { KeptTemplate } from '../../domain/ledger/record.ts';
import type { SourceId } from '../../domain/ledger/source-id.ts';
import type { KubeClient } from '../../kube/client.ts';
import { KubeError } from '../../kube/kube-error.ts';

export interface ShardContent {
  readonly v: 1;
  /** Names the key of the fingerprints. */
  readonly key: string;
  /** When it was written, in milliseconds: tells a later start how long nobody was there. */
  readonly alive: number;
  readonly shards: number;
  /**
   * For each kind of source, up to which version everything had been told. In the first shard, which is written after all
   * others, it holds for them too.
   */
  readonly seen?: Readonly<Partial<Record<SourceKind, number>>>;
  /** The same for each kind of workload: after a gap one is heard of again before another. */
  readonly told?: Readonly<Partial<Record<KindName, number>>>;
  readonly workloads: Record<string, KeptWorkload>;
}

export interface KeptWorkload {
  readonly uid: string;
  readonly seq: number;
  readonly applied: Readonly<Record<SourceId, Applied>>;
  readonly looks?: readonly KeptTemplate[];
  readonly revision?: string;
  /** Pods were still being replaced. */
  readonly coming?: true;
  readonly partial?: true;
  /** Where it is older than the shard: of a kind that nobody could list since. */
  readonly seen?: ShardContent['seen'];
}

/** One ConfigMap of the checkpoint. Each write carries the version it follows: an old leader cannot undo a new one's. */
export class LedgerShard {
  readonly #client: KubeClient;
  readonly #ref: { readonly namespace: string; readonly name: string };
  #resourceVersion: string | undefined;

  constructor(client: KubeClient, namespace: string, n: number) {
    this.#client = client;
    this.#ref = { namespace, name: `attune-ledger-${n}` };
  }

  /** Undefined if it does not exist, or is not ours to understand. */
  async read(): Promise<ShardContent | undefined> {
    try {
      const object = await this.#client.get<DataObject>(CONFIG_MAPS, this.#ref);
      this.#resourceVersion = object.metadata.resourceVersion;
      return parseShard(object.data?.['ledger']);
    } catch (error) {
      if (KubeError.is(error) && error.status === 404) return undefined;
      throw error;
    }
  }

  async write(text: string, mayWrite: () => boolean): Promise<void> {
    try {
      await this.#put(text);
    } catch (error) {
      // Somebody made, removed or rewrote it: look, and write over what is there now, unless it was our successor.
      if (!KubeError.is(error) || (error.status !== 409 && error.status !== 404)) throw error;
      this.#resourceVersion = undefined;
      await this.read();
      if (mayWrite()) await this.#put(text);
    }
  }

  async #put(text: string): Promise<void> {
    const metadata = {
      name: this.#ref.name,
      namespace: this.#ref.namespace,
      labels: { 'app.kubernetes.io/managed-by': 'attune' },
      ...(this.#resourceVersion !== undefined && { resourceVersion: this.#resourceVersion }),
    };
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { ledger: text } };
    const object = this.#resourceVersion
      ? await this.#client.replace<DataObject>(CONFIG_MAPS, this.#ref, body)
      : await this.#client.create<DataObject>(CONFIG_MAPS, this.#ref.namespace, body);
    this.#resourceVersion = object.metadata.resourceVersion;
  }
}

function parseShard(text: string | undefined): ShardContent | undefined {
  try {
    const content = JSON.parse(text ?? '') as Partial<ShardContent> | null;
    const isOurs = content?.v === 1 && typeof content.key === 'string' && typeof content.alive === 'number';
    return isOurs && typeof content.workloads === 'object' ? (content as ShardContent) : undefined;
  } catch {
    return undefined;
  }
}

// The server keeps every version for minutes: what moves often has to be small. A few workloads with very many sources
// are no reason for more shards, until one would no longer fit into an object (1 MiB with all that is around it).
const SHARD_BYTES = 64_000;
const FEW_WORKLOADS = 50;
const OBJECT_BYTES = 700_000;

/** Whether the text of a shard is small enough. */
export const fitsShard = (text: string, { workloads }: ShardContent): boolean =>
  text.length <= (Object.keys(workloads).length > FEW_WORKLOADS ? SHARD_BYTES : OBJECT_BYTES);

/** Stable over processes, or every start would write everything anew. */
export function shardOf(key: string, count: number): number {
  let hash = 0;
  for (let at = 0; at < key.length; at += 1) hash = (hash * 31 + key.charCodeAt(at)) >>> 0;
  return hash % count;
}
