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
  /** The same for one Job, whose manifest is too large beside those that are kept. `error`: so says the API server. */
  readonly noRoom: (ref: WorkloadRef, error: KubeError | undefined) => void;
}

const NAME = 'attune-replacing';
const KIB = 1024;
// The API server refuses a Secret with more than 1 MiB of data.
const MAX_BYTES = 1000 * KIB;
// A Job whose finalizers never go keeps its entry. The Jobs of one namespace must leave room for those of others.
const MAX_NAMESPACE_BYTES = 250 * KIB;
const TOO_LARGE: ReadonlySet<number> = new Set([413, 422]);

interface Kept {
  /** Undefined: nobody can read the entry. */
  readonly namespace: string | undefined;
  readonly bytes: number;
}

/**
 * Keeps the manifests of Jobs while they are deleted and created anew, so that the next process can finish it. An entry is
 * written right before the DELETE and says that the DELETE may have been sent. Where the entry can be kept, no DELETE is sent
 * without it. In a Secret, because manifests may hold credentials; with a fixed name, so that no rights on other Secrets are
 * needed.
 */
export class ReplacementJournal {
  readonly #deps: JournalDeps;
  /** What the Secret holds, as far as we know, by the uid of the Job. */
  readonly #kept = new Map<string, Kept>();

  constructor(deps: JournalDeps) {
    this.#deps = deps;
  }

  /** False: it could not be kept. */
  async begin({ ref, uid, ...rest }: Replacement): Promise<boolean> {
    const entry = Buffer.from(JSON.stringify({ ref, uid, ...rest }));
    try {
      if (this.#hasRoom(uid, ref.namespace, entry.length)) {
        const write = () => this.#write(uid, entry.toString('base64')).then(() => true);
        return (await this.#unlessForbidden(write)) ?? false;
      }
      this.#deps.noRoom(ref, undefined);
    } catch (error) {
      if (!KubeError.is(error) || !TOO_LARGE.has(error.status)) throw error;
      this.#deps.noRoom(ref, error);
    }
    return false;
  }

  /** Those that were begun and not closed. */
  async open(): Promise<readonly Replacement[]> {
    const { client, namespace } = this.#deps;
    const secret = await this.#unlessForbidden(() => client.get<DataObject>(SECRETS, { namespace, name: NAME }));
    this.#kept.clear();
    return Object.entries(secret?.data ?? {}).flatMap(([uid, encoded]) => {
      const replacement = parse(encoded);
      const bytes = Buffer.byteLength(encoded, 'base64');
      this.#kept.set(uid, { namespace: replacement?.ref.namespace, bytes });
      return replacement ?? [];
    });
  }

  async close({ uid }: Replacement): Promise<void> {
    await this.#unlessForbidden(() => this.#write(uid, null));
    this.#kept.delete(uid);
  }

  /** Takes the room if there is enough: others may ask before the Secret is written. */
  #hasRoom(uid: string, namespace: string, bytes: number): boolean {
    this.#kept.delete(uid);
    let all = bytes;
    let ofNamespace = bytes;
    for (const kept of this.#kept.values()) {
      all += kept.bytes;
      if (kept.namespace === namespace) ofNamespace += kept.bytes;
    }
    if (all > MAX_BYTES || ofNamespace > MAX_NAMESPACE_BYTES) return false;
    this.#kept.set(uid, { namespace, bytes });
    return true;
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

function parse(encoded: string): Replacement | undefined {
  try {
    const kept = JSON.parse(Buffer.from(encoded, 'base64').toString()) as Partial<Replacement>;
    const { ref, uid, resourceVersion, manifest } = kept;
    return ref && uid ? { ref, uid, resourceVersion, manifest } : undefined;
  } catch {
    return undefined;
  }
}
