import type { SourceRef } from '../api/sources.ts';
import { configHashText, type ListedSources, listedRefs } from '../domain/config-hash/config-hash.ts';
import type { Source } from '../domain/source/source.ts';
import { type Digest, sha256Hex } from '../runtime/digest.ts';

/** Makes config hashes with a key that is a secret, and knows those that it made. */
export type ContentHash = Pick<Digest, 'configHash' | 'madeHash'>;

export interface ConfigHashDeps {
  readonly sources: { get(ref: SourceRef): Source | undefined };
  /** By content. Undefined: by version, as SAP does it: the versions of a source tell nothing of what is in it. */
  readonly contentHash: ContentHash | undefined;
  /** Whether a source that is not among those we know is known to be absent. */
  readonly isAbsent: (ref: SourceRef) => boolean;
}

export type ConfigHash = (listed: ListedSources, namespace: string) => string;

/** The config hash of what is listed, by what is known of the sources. */
export function createConfigHash({ sources, contentHash, isAbsent }: ConfigHashDeps) {
  const versionOf = ({ uid, resourceVersion }: Source): string => `${uid}.${resourceVersion}`;
  const holds = (ref: SourceRef): string | undefined => {
    const source = sources.get(ref);
    // What nobody could read yet is told by its version.
    return source && ((contentHash && source.fingerprint?.exact) ?? versionOf(source));
  };
  const known: ConfigHash = (listed, namespace) => {
    const text = configHashText(listed, namespace, holds);
    return contentHash ? contentHash.configHash(text) : sha256Hex(text);
  };
  return {
    /** By all that is known. */
    known,
    /** Undefined if there may be more than we know. */
    certain: (listed: ListedSources, namespace: string): string | undefined => {
      const isWhole = listedRefs(listed, namespace).every((ref) => sources.get(ref) !== undefined || isAbsent(ref));
      return isWhole ? known(listed, namespace) : undefined;
    },
  };
}

type CertainHash = (listed: ListedSources, namespace: string) => string | undefined;

/**
 * Remembers the last answer until `changes` grows. A workload asks once for each source that it lists, and each answer goes
 * over the whole list: without this, one long list would take the time of all workloads.
 */
export function rememberingLast(ask: CertainHash, changes: () => number): CertainHash {
  let last: {
    readonly listed: ListedSources;
    readonly namespace: string;
    readonly at: number;
    hash?: string | undefined;
  };
  return (listed, namespace) => {
    const at = changes();
    if (last?.listed !== listed || last.namespace !== namespace || last.at !== at) {
      last = { listed, namespace, at, hash: ask(listed, namespace) };
    }
    return last.hash;
  };
}
