import type { DataObject } from '../../api/objects.ts';
import { SECRETS } from '../../api/resources.ts';
import type { WorkloadRef } from '../../domain/workload/workload.ts';
import type { KubeClient } from '../../kube/client.ts';
import { KubeError } from '../../kube/kube-error.ts';

/** A Job that is being deleted and created anew. */
export interface Replacement {
  readonly ref: WorkloadRef;
  /** Of the Job to be deleted. */
  readonly uid: string;
  /** The version that the decision was made on; undefined in what an earlier release wrote. */
  readonly resourceVersion?: string | undefined;
  readonly manifest: unknown;
}

export interface JournalDeps {
  readonly client: KubeClient;
  readonly namespace: string | undefined;
  /** Called when the Secret may not be written: then a kill -9 at the wrong moment loses a Job, as it does upstream. */
  readonly unsafe: (error: KubeError | undefined) => void;
}

const NAME = 'attune-replacing';

/**
 * Keeps the manifests of Jobs while they are deleted and created anew, so that the next process can finish it. An entry is
 * written right before the DELETE and says that the DELETE may have been sent. Without one it was not. In a Secret,
 * because manifests may hold credentials; with a fixed name, so that no rights on other Secrets are needed.
 */
export class ReplacementJournal {
  readonly #deps: JournalDeps;

  constructor(deps: JournalDeps) {
    this.#deps = deps;
  }

  /** False: it could not be kept. */
  async begin(replacement: Replacement): Promise<boolean> {
    const kept = Buffer.from(JSON.stringify(replacement)).toString('base64');
    return (await this.#unlessForbidden(() => this.#write(replacement.uid, kept).then(() => true))) ?? false;
  }

  /** Those that were begun and not closed. */
  async open(): Promise<readonly Replacement[]> {
    const { client, namespace } = this.#deps;
    const secret = await this.#unlessForbidden(() => client.get<DataObject>(SECRETS, { namespace, name: NAME }));
    return Object.values(secret?.data ?? {}).flatMap(parse);
  }

  async close({ uid }: Replacement): Promise<void> {
    await this.#unlessForbidden(() => this.#write(uid, null));
  }

  /** Each Job has its own key, so that two that are replaced at once do not conflict. */
  async #write(uid: string, value: string | null): Promise<void> {
    const { client, namespace } = this.#deps;
    const data = { [uid]: value };
    try {
      await client.patch(SECRETS, { namespace, name: NAME }, { data }, { type: 'merge' });
    } catch (error) {
      if (!KubeError.is(error) || error.status !== 404) throw error;
      if (value === null) return;
      const metadata = { name: NAME, namespace, labels: { 'app.kubernetes.io/managed-by': 'attune' } };
      await client.create(SECRETS, namespace, { apiVersion: 'v1', kind: 'Secret', metadata, data });
    }
  }

  async #unlessForbidden<T>(work: () => Promise<T>): Promise<T | undefined> {
    if (this.#deps.namespace === undefined) {
      this.#deps.unsafe(undefined);
      return undefined;
    }
    try {
      return await work();
    } catch (error) {
      if (!KubeError.is(error)) throw error;
      if (error.status === 404) return undefined;
      if (error.status !== 403) throw error;
      this.#deps.unsafe(error);
      return undefined;
    }
  }
}

function parse(encoded: string): Replacement[] {
  try {
    const kept = JSON.parse(Buffer.from(encoded, 'base64').toString()) as Partial<Replacement>;
    const { ref, uid, resourceVersion, manifest } = kept;
    return ref && uid ? [{ ref, uid, resourceVersion, manifest }] : [];
  } catch {
    return [];
  }
}
