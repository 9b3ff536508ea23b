import type { SourceKind } from '../../api/sources.ts';
import type { Ask, Refusal, StakaterStrategy, Strategy, YesReason } from '../asks/ask.ts';
import type { Dialect } from '../asks/workload-annotations.ts';

/** Why a source's change does not roll a workload. The same word is log field, metric label and `explain` line. */
export type NoReason =
  | 'kind-ignored'
  | 'source-ignored'
  | Refusal['because']
  | 'disabled-by-label'
  | 'left-out'
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
      /** Nobody who asks for this wants an alert about it. */
      readonly isSilent?: true | undefined;
      /** Since when somebody asks for this, RFC 3339; undefined: as long as the workload exists. */
      readonly askedSince?: string | undefined;
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
  /** Undefined: none. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
}

/** What the flags decide about every workload; the annotation keys, for a verdict names the one that decided. */
export interface Policy extends Dialect {
  readonly autoReloadAll: boolean;
  /** By kind, not by flag word: `Job`, `CronJob`. */
  readonly ignoredKinds: ReadonlySet<string>;
  /** Where the one who asks does not say otherwise. */
  readonly reloadStrategy: StakaterStrategy;
}
