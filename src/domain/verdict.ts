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
  | { readonly reload: false; readonly because: NoReason; readonly rule: string; readonly cure: string };

/** What the flags decide about every workload. */
export interface Policy {
  readonly compat: boolean;
  readonly autoReloadAll: boolean;
  readonly ignoredKinds: ReadonlySet<string>;
}
