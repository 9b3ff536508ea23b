import type { AnnotationKeys } from '../../api/annotations.ts';
import type { JsonObject } from '../../api/json.ts';
import type { JsonOperation } from '../template/json-patch.ts';

/** What the API server asks about one write. */
export interface AdmissionRequest {
  readonly uid: string;
  readonly kind: { readonly group: string; readonly version: string; readonly kind: string };
  readonly operation: string;
  readonly namespace: string;
  /** '' for the object itself. */
  readonly subResource: string;
  readonly object: JsonObject | undefined;
  /** As it is stored; undefined where nothing is. */
  readonly oldObject: JsonObject | undefined;
  readonly username: string;
  readonly fieldManager: string;
  readonly dryRun: boolean;
}

export interface AdmissionRules {
  readonly keys: AnnotationKeys;
  /** As Stakater Reloader. */
  readonly compat: boolean;
  /** As SAP pod-reloader. */
  readonly sapCompat: boolean;
  /** Whether marks and records come back that another writer drops. */
  readonly marks: boolean;
  readonly autoReloadAll: boolean;
  /** Our own ServiceAccount. */
  readonly ownUsername: string | undefined;
  /** Whether we made this config hash, with the present key: only then can it be told from the current one. */
  readonly isOwnHash: (hash: string) => boolean;
}

/** The config hash of what the lists name, as it is now, by both measures; or why it cannot be told. */
export type CurrentHash = { readonly content: string; readonly versions: string } | { readonly error: string };

/** The answer depends on what SAP's lists name. They are all that is kept of the request until that is read. */
export interface HashQuestion {
  readonly lists: JsonObject;
  readonly namespace: string;
}

/** How much came back of what another writer dropped or sent otherwise. */
export interface Restored {
  readonly variables: number;
  readonly annotations: number;
  readonly record: number;
}

export type Answer =
  | {
      readonly allowed: true;
      readonly operations: readonly JsonOperation[];
      /** Shown to the writer. */
      readonly warnings: readonly string[];
      readonly restored: Restored;
      /** Of the template's config hash. `set`: it is the current one. `kept`: the one that is stored, or none. */
      readonly hash: 'set' | 'kept' | 'none';
    }
  | { readonly allowed: false; readonly code: number; readonly message: string };
