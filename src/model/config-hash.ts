import type { SourceRef } from '../api/sources.ts';
import { configHashText, type ListedSources, listedRefs } from '../domain/config-hash/config-hash.ts';
import { sourceId } from '../domain/ledger/source-id.ts';
import type { Source } from '../domain/source/source.ts';
import { sha256Hex } from '../runtime/digest.ts';
import type { LedgerKey } from './ledger/ledger-key.ts';

export interface ConfigHashDeps extends Pick<LedgerKey, 'mayStore'> {
  readonly sources: { get(ref: SourceRef): Source | undefined };
  /** As SAP: by version. Otherwise by content, as far as that may be told and is known. */
  readonly sapCompat: boolean;
  /** Whether a source that is not among those we know is known to be absent. */
  readonly isAbsent: (ref: SourceRef) => boolean;
}

export type ConfigHash = (listed: ListedSources, namespace: string) => string;

/** SAP's digest of what is listed, by what is known of the sources. */
export function createConfigHash({ sources, sapCompat, mayStore, isAbsent }: ConfigHashDeps) {
  const holds = (ref: SourceRef): string | undefined => {
    const source = sources.get(ref);
    const isTold = !sapCompat && mayStore(sourceId(ref));
    return source && ((isTold ? source.fingerprint?.exact : undefined) ?? `${source.uid}.${source.resourceVersion}`);
  };
  const known: ConfigHash = (listed, namespace) => sha256Hex(configHashText(listed, namespace, holds));
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
