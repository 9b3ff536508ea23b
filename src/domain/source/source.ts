import type { SourceRef } from '../../api/sources.ts';

/** `exact` is collision-free and keyed per installation: we compare it. `mark` is Stakater's SHA-1: we write it. */
export interface Fingerprint {
  readonly exact: string;
  readonly mark: string;
}

export type Labels = Readonly<Record<string, string>>;

export const NO_LABELS: Labels = {};

/** What the rules read of a source. */
export interface SourceFlags {
  /** The ignore annotation says exactly "true". */
  readonly ignored: boolean;
  /** The match annotation says exactly "true". */
  readonly matchable: boolean;
  readonly labels: Labels;
}

/** A ConfigMap, Secret or SecretProviderClass as it is kept: without its data. */
export interface Source extends SourceFlags {
  readonly ref: SourceRef;
  /** Of the object; '' for a SecretProviderClass of which only the pods that mount it are known. */
  readonly uid: string;
  readonly resourceVersion: string;
  /** Undefined: listed without its data, and nobody has needed it yet. */
  readonly fingerprint: Fingerprint | undefined;
  /** When its data was last written after its creation, by the server's clock; undefined: never, or nobody looked. */
  readonly editedAt?: string | undefined;
  /** When it was created; undefined: nobody looked. */
  readonly bornAt?: string | undefined;
}
