import type { AnnotationKeys } from '../../api/annotations.ts';
import type { JsonObject } from '../../api/json.ts';
import type { JsonOperation } from '../template/json-patch.ts';

/** What the API server asks about: a write that somebody wants to make. */
export interface AdmissionRequest {
  readonly uid: string;
  readonly kind: { readonly group: string; readonly version: string; readonly kind: string };
  /** CREATE, UPDATE and others. */
  readonly operation: string;
  readonly namespace: string;
  /** '': the object itself. */
  readonly subResource: string;
  /** The object as it is to be; undefined for a DELETE. */
  readonly object: JsonObject | undefined;
  /** As it is stored; undefined for a CREATE. */
  readonly oldObject: JsonObject | undefined;
  readonly username: string;
  readonly fieldManager: string;
  readonly dryRun: boolean;
}

/** What settings say about admission. */
export interface AdmissionRules {
  readonly keys: AnnotationKeys;
  readonly compat: boolean;
  readonly sapCompat: boolean;
  /** Whether marks and records are put back. */
  readonly marks: boolean;
  readonly autoReloadAll: boolean;
  /** Who we are to the API server; undefined: not known. */
  readonly ownUsername: string | undefined;
}

/** The config hash of what the lists name, as it is now, by content and by version; or why it cannot be told. */
export type CurrentHash = { readonly content: string; readonly versions: string } | { readonly error: string };

export type Answer =
  | {
      readonly allowed: true;
      readonly operations: readonly JsonOperation[];
      readonly warnings: readonly string[];
      /** How many marks come back. */
      readonly restored: { readonly variables: number; readonly annotations: number; readonly record: number };
      readonly hash: 'set' | 'kept' | 'none';
    }
  | { readonly allowed: false; readonly code: number; readonly message: string };
