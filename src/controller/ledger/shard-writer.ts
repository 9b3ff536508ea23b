import type { DataObject } from '../../api/objects.ts';
import { CONFIG_MAPS } from '../../api/resources.ts';
import type { KubeClient } from '../../kube/client.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { readShard, type ShardRef } from '../../model/ledger/shard.ts';

/** One ConfigMap of the checkpoint. Each write carries the version it follows: an old leader cannot undo a new one's. */
export class ShardWriter {
  /** What is stored may be older than what is known. */
  isDirty = true;
  /** It could say more than it does, and is written when there is time. */
  isOutdated = false;
  /** Why the last write did not succeed. */
  failure: KubeError | undefined;
  /** By the process's clock: it was refused for good, or is so large that it is not written as often as others. */
  heldUntil = Number.NEGATIVE_INFINITY;
  readonly #client: KubeClient;
  readonly #ref: ShardRef;
  #resourceVersion: string | undefined;
  #writing: Promise<void> | undefined;

  /** `resourceVersion`: as it was read; undefined: it does not exist. */
  constructor(client: KubeClient, ref: ShardRef, resourceVersion?: string) {
    this.#client = client;
    this.#ref = ref;
    this.#resourceVersion = resourceVersion;
  }

  get name(): string {
    return this.#ref.name;
  }

  get isWriting(): boolean {
    return this.#writing !== undefined;
  }

  /** The version that holds all that is known; undefined: none does. */
  get currentVersion(): string | undefined {
    return this.isDirty || this.isWriting ? undefined : this.#resourceVersion;
  }

  /** Resolves when no write is under way. */
  async settled(): Promise<void> {
    for (let last = this.#writing; last !== undefined; last = this.#writing) await last;
  }

  /** Writes all that is known. Never while another write is under way: the older text could be stored last. */
  async write(text: string, mayWrite: () => boolean): Promise<void> {
    this.isDirty = false;
    this.#writing = this.#overwrite(text, mayWrite).then(
      () => {
        this.failure = undefined;
      },
      (error: unknown) => {
        this.isDirty = true;
        if (!KubeError.is(error)) throw error;
        this.failure = error;
      },
    );
    try {
      await this.#writing;
    } finally {
      this.#writing = undefined;
    }
  }

  async #overwrite(text: string, mayWrite: () => boolean): Promise<void> {
    try {
      await this.#put(text);
    } catch (error) {
      // Somebody created, deleted or rewrote it: read, and overwrite what is there now, unless we no longer lead.
      if (!KubeError.is(error) || (error.status !== 409 && error.status !== 404)) throw error;
      this.#resourceVersion = (await readShard(this.#client, this.#ref))?.resourceVersion;
      if (!mayWrite()) throw error;
      await this.#put(text);
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
