import type { SourceKind, SourceRef } from '../../api/sources.ts';
import type { ListedSources } from '../config-hash/config-hash.ts';
import { indexOnce } from '../index-once.ts';
import type { Selector } from '../text/selector.ts';
import type { NamePattern } from './name-pattern.ts';

/** How Stakater marks a change in a pod template: by a variable of a container, or by an annotation. A flag chooses. */
export type StakaterStrategy = 'env-vars' | 'annotations';

/** `config-hash`: as SAP, by a digest of all that is listed. No flag chooses it: it is the mark of SAP's asks. */
export type Strategy = StakaterStrategy | 'config-hash';

export type RolloutStrategy = 'rollout' | 'restart';

/** Where an annotation of a workload stands. */
export type Place = 'metadata' | 'template';

/** Who asks, or refuses. Each dialect has its own member, and its own parser beside this file. */
export type Origin =
  | { readonly by: 'annotation'; readonly place: Place; readonly key: string; readonly value: string }
  | { readonly by: 'label'; readonly key: string; readonly value: string }
  | { readonly by: 'flag'; readonly flag: string }
  | ConfigOrigin;

/** A field of a ReloaderConfig, by its path: `spec.targets[0]`. */
export interface ConfigOrigin {
  readonly by: 'config';
  readonly namespace: string;
  readonly name: string;
  readonly path: string;
}

/**
 * `named`: sources whose name matches, used or not. `selected`: those whose labels match. `used`: all that a container
 * uses. `search`: of these, the ones that carry the match annotation.
 *
 * `namespaces`: where the sources are; undefined: in the workload's own namespace.
 */
export type Wants =
  | {
      readonly what: 'named';
      readonly kind: SourceKind;
      readonly patterns: readonly NamePattern[];
      readonly namespaces?: readonly string[] | undefined;
    }
  | {
      readonly what: 'selected';
      readonly kind: SourceKind;
      readonly selector: Selector;
      readonly namespaces: readonly string[];
    }
  | { readonly what: 'used' | 'search'; readonly kind: SourceKind };

/** What keeps sources out of an ask, though it wants them. */
export interface Limits {
  /** Labels that a source must have. */
  readonly labels: Selector;
  readonly ignored: readonly IgnoredSource[];
  /** Only what the pod template names. */
  readonly mustBeUsed: boolean;
}

export interface IgnoredSource {
  readonly kind: SourceKind;
  readonly name: string;
  /** Undefined: in any namespace. */
  readonly namespace?: string | undefined;
}

/** What can be set in place of a flag; missing: the flag counts. */
export interface Overrides {
  readonly strategy?: Strategy | undefined;
  /** `restart`: pods are replaced and the template stays as it is. */
  readonly rolloutStrategy?: RolloutStrategy | undefined;
  /** So long after a reload the next one waits. */
  readonly cooldownMs?: number | undefined;
  /** Deployment only. */
  readonly pausePeriodMs?: number | undefined;
  readonly quietPeriodMs?: number | undefined;
  readonly maxWaitMs?: number | undefined;
  readonly reloadOnCreate?: boolean | undefined;
  readonly reloadOnDelete?: boolean | undefined;
}

export const NO_OVERRIDES: Overrides = {};

/** Why a source's change rolls a workload. The same word is log field, metric label and `explain` line. */
export type YesReason = 'named' | 'search-match' | 'auto' | 'typed-auto' | 'auto-reload-all' | 'reloader-config';

/** Somebody wants a workload to be reloaded when certain sources change. */
export interface Ask {
  readonly because: YesReason;
  readonly origin: Origin;
  readonly wants: Wants;
  readonly overrides: Overrides;
  /** SAP's: all that the same workload lists, for the digest is one over all of it. */
  readonly listed?: ListedSources;
  /** It does not count while this is there. */
  readonly disabledBy?: Origin;
  readonly limits?: Limits;
  /** Since when somebody asks, RFC 3339; undefined: as long as the workload exists, for all that we know. */
  readonly askedSince?: string;
  /** It does not want an alert about what it leads to. */
  readonly isSilent?: true;
}

/** Somebody does not want a workload to be reloaded, whatever is asked for. */
export interface Refusal {
  readonly because: 'excluded' | 'auto-false' | 'on-change-ignore';
  readonly origin: Origin;
  /** Only for sources of this kind. */
  readonly kind?: SourceKind;
  /** Only for sources of these names. */
  readonly names?: ReadonlySet<string>;
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
  /** The first one that wants a source decides. That of a flag counts only while the flag is set. */
  readonly asks: readonly Ask[];
  readonly refusals: readonly Refusal[];
  /** By the workload's own annotations. */
  readonly overrides: Overrides;
  /** Argo Rollout only. */
  readonly rolloutStrategy: RolloutStrategy;
  /** CronJob and Job only; undefined: the default of the mode. */
  readonly onChange: 'run' | 'template' | 'ignore' | undefined;
  /** Annotations that cannot be understood. */
  readonly problems: readonly Problem[];
}

/** Who asked, as shown to people. */
export function originText(origin: Origin): string {
  if (origin.by === 'flag') return origin.flag;
  if (origin.by === 'config') return `ReloaderConfig ${origin.namespace}/${origin.name} ${origin.path}`;
  const text = annotationText(origin.key, origin.value);
  return origin.by === 'label' ? `label ${text}` : `${text} in ${placeText(origin.place)}`;
}

/** A value of an annotation can have a quarter of a megabyte. Its end is where a cure adds a name. */
const LONGEST_BEGINNING = 200;
const LONGEST_END = 100;

/** An annotation as one would write it; of a long value the beginning and the end. */
export function annotationText(key: string, value: string): string {
  const isLong = value.length > LONGEST_BEGINNING + LONGEST_END;
  const shown = isLong ? `${value.slice(0, LONGEST_BEGINNING)}...${value.slice(-LONGEST_END)}` : value;
  return `${key}: ${JSON.stringify(shown)}`;
}

export const placeText = (place: Place): string => (place === 'metadata' ? 'metadata' : 'the pod template');

/** Without a name: whether every source of the kind is refused. */
export const refuses = (refusal: Refusal, kind: SourceKind, name?: string): boolean =>
  (refusal.kind === undefined || refusal.kind === kind) &&
  (refusal.names === undefined || (name !== undefined && refusal.names.has(name)));

/** Whether a source is among those that are left out by name. */
export function ignores(
  { ignored }: Pick<Limits, 'ignored'>,
  { kind, name, namespace }: { readonly [K in keyof SourceRef]?: SourceRef[K] | undefined },
): boolean {
  if (ignored.length === 0) return false;
  const ids = ignoredIds(ignored);
  return ids.has(ignoredId(kind, name)) || (namespace !== undefined && ids.has(ignoredId(kind, name, namespace)));
}

const ignoredIds = indexOnce(
  (ignored: readonly IgnoredSource[]) =>
    new Set(ignored.map(({ kind, name, namespace }) => ignoredId(kind, name, namespace))),
);

const ignoredId = (kind = '', name = '', namespace = ''): string => `${kind}/${namespace}/${name}`;

/** Every element of every named list, with the kind of source that it names. */
export function namedIn(asks: readonly Ask[]): { readonly kind: SourceKind; readonly pattern: NamePattern }[] {
  return asks.flatMap(({ wants }) =>
    wants.what === 'named' ? wants.patterns.map((pattern) => ({ kind: wants.kind, pattern })) : [],
  );
}
