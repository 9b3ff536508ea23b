import type { DataObject } from '../api/objects.ts';
import { SECRETS } from '../api/resources.ts';
import type { WorkloadRef } from '../domain/workload.ts';
import type { KubeClient } from '../kube/client.ts';
import { KubeError } from '../kube/kube-error.ts';

/** A Job between its deletion and its new life. */
export interface Replacement {
  readonly ref: WorkloadRef;
  /** Of the Job that is to go. */
  readonly uid: string;
  readonly manifest: unknown;
  /** Undefined: kept in memory alone. */
  readonly name: string | undefined;
}

export interface JournalDeps {
  readonly client: KubeClient;
  readonly namespace: string | undefined;
  readonly shorten: (text: string) => string;
  /** Said once: without the right to keep Secrets a kill -9 at the wrong moment loses a Job, as it does upstream. */
  readonly unsafe: (error: KubeError | undefined) => void;
}

const LABEL = 'attune.dev/replacing';

/** Keeps the manifest of a Job while it is deleted and created anew: in a Secret, for it may hold what is nobody's business. */
export class ReplacementJournal {
  readonly #deps: JournalDeps;

  constructor(deps: JournalDeps) {
    this.#deps = deps;
  }

  async begin(uid: string, ref: WorkloadRef, manifest: unknown): Promise<Replacement> {
    const { client, namespace, shorten, unsafe } = this.#deps;
    const kept = { ref, uid, manifest };
    if (namespace === undefined) {
      unsafe(undefined);
      return { ...kept, name: undefined };
    }
    const name = `attune-replacing-${shorten(uid)}`;
    const metadata = { name, namespace, labels: { [LABEL]: 'job' } };
    const stringData = { replacement: JSON.stringify(kept) };
    try {
      await client.create(SECRETS, namespace, { apiVersion: 'v1', kind: 'Secret', metadata, stringData });
    } catch (error) {
      if (KubeError.is(error, 'AlreadyExists')) return { ...kept, name };
      if (!KubeError.is(error) || error.status !== 403) throw error;
      unsafe(error);
      return { ...kept, name: undefined };
    }
    return { ...kept, name };
  }

  /** Those that were begun and not closed. */
  async open(): Promise<readonly Replacement[]> {
    const { client, namespace } = this.#deps;
    if (namespace === undefined) return [];
    const found: Replacement[] = [];
    try {
      for await (const page of client.list<DataObject>(SECRETS, { namespace, labelSelector: LABEL })) {
        for (const secret of page.items) found.push(...parse(secret));
      }
    } catch (error) {
      if (!KubeError.is(error) || error.status !== 403) throw error;
      this.#deps.unsafe(error);
    }
    return found;
  }

  async close({ name }: Replacement): Promise<void> {
    const { client, namespace } = this.#deps;
    if (name === undefined || namespace === undefined) return;
    try {
      await client.delete(SECRETS, { namespace, name });
    } catch (error) {
      if (!KubeError.is(error) || error.status !== 404) throw error;
    }
  }
}

function parse(secret: DataObject): Replacement[] {
  try {
    const text = Buffer.from(secret.data?.['replacement'] ?? '', 'base64').toString();
    const { ref, uid, manifest } = JSON.parse(text) as Partial<Replacement>;
    return ref && uid ? [{ ref, uid, manifest, name: secret.metadata.name }] : [];
  } catch {
    return [];
  }
}
