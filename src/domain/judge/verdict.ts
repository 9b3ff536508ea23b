import type { AnnotationKeys } from '../../api/annotations.ts';
import type { SourceKind } from '../../api/sources.ts';
import type { Ask, Refusal, Strategy, YesReason } from '../asks/ask.ts';

/** Why a source's change does not roll a workload. The same word is log field, metric label and `explain` line. */
export type NoReason =
  | 'kind-ignored'
  | 'source-ignored'
  | Refusal['because']
  | 'not-used'
  | 'search-without-match'
  | 'not-asked'
  | 'invalid-annotation';

export type Verdict =
  | {
      readonly reload: true;
      readonly because: YesReason;
      /** Index of the container that gets the mark. */
      readonly container: number;
      /** What decided, with who asked for it. */
      readonly rule: string;
      /** Who asked. */
      readonly ask: Ask;
      /** How the change is marked. */
      readonly strategy: Strategy;
    }
  | {
      readonly reload: false;
      readonly because: NoReason;
      readonly rule: string;
      /** What would make it a yes: one line for each thing that is in the way. Worked out only when it is read. */
      readonly cures: readonly string[];
    };

/** What a verdict needs to know about a source. */
export interface JudgedSource {
  /** Without a namespace it is in that of the workload. */
  readonly ref: { readonly kind: SourceKind; readonly namespace?: string | undefined; readonly name: string };
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
  /** Where the one who asks does not say otherwise. */
  readonly reloadStrategy: Strategy;
}
