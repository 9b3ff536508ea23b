import type { SourceKind } from '../../api/sources.ts';
import type { NamePattern } from './name-pattern.ts';

/** How a change is marked in a pod template: a variable of a container, or an annotation. */
export type Strategy = 'env-vars' | 'annotations';

/** Where an annotation of a workload stands. */
export type Place = 'metadata' | 'template';

/** Why a source's change rolls a workload. The same word is log field, metric label and `explain` line. */
export type YesReason = 'named' | 'search-match' | 'auto' | 'typed-auto' | 'auto-reload-all';

/** Who asks, or refuses. Each dialect has its own member, and its own parser beside this file. */
export type Origin =
  | { readonly by: 'annotation'; readonly place: Place; readonly key: string; readonly value: string }
  | { readonly by: 'flag'; readonly flag: string };

/**
 * What is asked for, of these kinds of source.
 *
 * `named`: sources whose name matches, used or not. `used`: all that a container uses. `search`: of these, the ones that
 * carry the match annotation.
 */
export type Wants =
  | { readonly what: 'named'; readonly kinds: readonly SourceKind[]; readonly patterns: readonly NamePattern[] }
  | { readonly what: 'used' | 'search'; readonly kinds: readonly SourceKind[] };

/** What can be set in place of a flag; missing: the flag counts. */
export interface Overrides {
  readonly strategy?: Strategy | undefined;
  /** Deployment only. */
  readonly pausePeriodMs?: number | undefined;
  readonly quietPeriodMs?: number | undefined;
  readonly maxWaitMs?: number | undefined;
  readonly reloadOnCreate?: boolean | undefined;
  readonly reloadOnDelete?: boolean | undefined;
}

export const NO_OVERRIDES: Overrides = {};

/** Somebody wants a workload to be reloaded when certain sources change. */
export interface Ask {
  readonly because: YesReason;
  readonly origin: Origin;
  readonly wants: Wants;
  readonly overrides: Overrides;
}

/** Somebody does not want a workload to be reloaded, whatever else is asked. */
export interface Refusal {
  readonly because: 'excluded' | 'auto-false' | 'on-change-ignore';
  readonly origin: Origin;
  readonly kinds: readonly SourceKind[];
  /** Only for sources of these names; undefined: for all. */
  readonly names: readonly string[] | undefined;
}

export interface Problem {
  /** The annotation. */
  readonly path: string;
  /** What was expected. */
  readonly message: string;
  /** Set where a guess could do harm: no reload until the annotation is corrected. */
  readonly blocks?: true;
  /** Most likely a mistake, but it changes no decision. */
  readonly isSlip?: true;
}

/** All that is asked for about one workload. */
export interface Intent {
  /** The first one that wants a source decides. */
  readonly asks: readonly Ask[];
  /** In the order in which they are reported. */
  readonly refusals: readonly Refusal[];
  /** Kinds of source about which no auto annotation says anything: for these `--auto-reload-all` asks. */
  readonly silentOn: readonly SourceKind[];
  /** By the workload's own annotations. */
  readonly overrides: Overrides;
  /** Argo Rollout only. */
  readonly rolloutStrategy: 'rollout' | 'restart';
  /** CronJob and Job only; undefined: the default of the mode. */
  readonly onChange: 'run' | 'template' | 'ignore' | undefined;
  /** Annotations that cannot be understood. */
  readonly problems: readonly Problem[];
}

/** Who asked, as shown to people. */
export function originText(origin: Origin): string {
  return origin.by === 'flag'
    ? origin.flag
    : `${annotationText(origin.key, origin.value)} in ${placeText(origin.place)}`;
}

/** An annotation as one would write it. */
export const annotationText = (key: string, value: string): string => `${key}: ${JSON.stringify(value)}`;

/** A value as shown to people, cut short: an annotation can be a quarter of a megabyte. */
export const quote = (text: string): string => JSON.stringify(text.length > 80 ? `${text.slice(0, 77)}...` : text);

export const placeText = (place: Place): string => (place === 'metadata' ? 'metadata' : 'the pod template');

export const refuses = ({ kinds, names }: Refusal, kind: SourceKind, name: string): boolean =>
  kinds.includes(kind) && (names === undefined || names.includes(name));

/** Every element of every named list, with the kind of source that it names. */
export function namedIn({ asks }: Intent): { readonly kind: SourceKind; readonly pattern: NamePattern }[] {
  return asks.flatMap(({ wants }) =>
    wants.what === 'named' ? wants.kinds.flatMap((kind) => wants.patterns.map((pattern) => ({ kind, pattern }))) : [],
  );
}
