import type { DataObject } from '../../api/objects.ts';
import { CONFIG_MAPS } from '../../api/resources.ts';
import type { KubeClient } from '../../kube/client.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { readShard, type ShardContent, type ShardRef } from '../../model/ledger/shard.ts';

/** Writes one ConfigMap of the checkpoint. Each write carries the version it follows: an old leader cannot undo a new one's. */
export class ShardWriter {
  readonly #client: KubeClient;
  readonly #ref: ShardRef;
  #resourceVersion: string | undefined;

  /** `resourceVersion`: as it was read; undefined: it does not exist. */
  constructor(client: KubeClient, ref: ShardRef, resourceVersion?: string) {
    this.#client = client;
    this.#ref = ref;
    this.#resourceVersion = resourceVersion;
  }

  async write(text: string, mayWrite: () => boolean): Promise<void> {
    try {
      await this.#put(text);
    } catch (error) {
      // Somebody created, deleted or rewrote it: read, and overwrite what is there now, unless we no longer lead.
      if (!KubeError.is(error) || (error.status !== 409 && error.status !== 404)) throw error;
      this.#resourceVersion = (await readShard(this.#client, this.#ref))?.resourceVersion;
      if (mayWrite()) await this.#put(text);
    }
  }

  async #put(text: string): Promise<void> {
    const ref = this.#ref;
    const resourceVersion = this.#resourceVersion;
    const labels = { 'app.kubernetes.io/managed-by': 'attune' };
    const metadata = { ...ref, labels, ...(resourceVersion !== undefined && { resourceVersion }) };
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { ledger: text } };
    const object = resourceVersion
      ? await this.#client.replace<DataObject>(CONFIG_MAPS, ref, body)
      : await this.#client.create<DataObject>(CONFIG_MAPS, ref.namespace, body);
    this.#resourceVersion = object.metadata.resourceVersion;
  }
}

// The server keeps every version for minutes: what is written often has to be small. A few workloads with very many sources
// are no reason for more shards, until one would no longer fit into an object (1 MiB with all that is around it).
const SHARD_BYTES = 64_000;
const FEW_WORKLOADS = 50;
const OBJECT_BYTES = 700_000;

export const fitsShard = (text: string, { workloads }: ShardContent): boolean =>
  text.length <= (Object.keys(workloads).length > FEW_WORKLOADS ? SHARD_BYTES : OBJECT_BYTES);

/** Stable over processes, or every start would write everything anew. */
export function shardOf(key: string, count: number): number {
  let hash = 0;
  for (let at = 0; at < key.length; at += 1) hash = (hash * 31 + key.charCodeAt(at)) >>> 0;
  return hash % count;
}
