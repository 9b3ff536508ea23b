import type { AnnotationKeys } from '../../api/annotations.ts';
import type { SourceKind } from '../../api/sources.ts';

/** Why a source's change rolls a workload, or not. The same word is log field, metric label and `explain` line. */
export type YesReason = 'named' | 'search-match' | 'auto' | 'typed-auto' | 'auto-reload-all';
export type NoReason =
  | 'kind-ignored'
  | 'source-ignored'
  | 'excluded'
  | 'auto-false'
  | 'not-used'
  | 'search-without-match'
  | 'not-asked'
  | 'on-change-ignore'
  | 'invalid-annotation';

export type Verdict =
  | { readonly reload: true; readonly because: YesReason; readonly container: number; readonly rule: string }
  | {
      readonly reload: false;
      readonly because: NoReason;
      readonly rule: string;
      /** What would make it a yes: one line for each thing that is in the way. Found out when somebody asks. */
      readonly cures: readonly string[];
    };

/** What a verdict needs to know about a source. */
export interface JudgedSource {
  readonly ref: { readonly kind: SourceKind; readonly name: string };
  readonly ignored: boolean;
  readonly matchable: boolean;
}

/** What the flags decide about every workload. */
export interface Policy {
  readonly compat: boolean;
  readonly autoReloadAll: boolean;
  /** By kind, not by flag word: `Job`, `CronJob`. */
  readonly ignoredKinds: ReadonlySet<string>;
  /** The annotation keys in force: a verdict names the one that decided. */
  readonly keys: AnnotationKeys;
}
