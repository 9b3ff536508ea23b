import { NAMESPACE_NAME } from '../../api/resources.ts';
import type { IgnoredSource, Overrides, RolloutStrategy, StakaterStrategy } from '../asks/ask.ts';
import type { NamePattern } from '../asks/name-pattern.ts';
import type { Selector } from '../text/selector.ts';
import type { WorkloadRef } from '../workload/workload.ts';

export interface ConfigRef {
  readonly namespace: string;
  readonly name: string;
}

export type ConfigKey = `${string}/${string}`;

export const configKey = ({ namespace, name }: ConfigRef): ConfigKey => `${namespace}/${name}`;

/** Something in a ReloaderConfig that cannot be done as it is written. The rest of it works. */
export interface ConfigProblem {
  /** Of the field: `spec.targets[2].pausePeriod`. */
  readonly path: string;
  /** What was expected, and what to do about it. */
  readonly message: string;
}

/** What a ReloaderConfig asks for, reduced to what can be understood; everything else is among the problems. */
export interface ReloaderConfig {
  readonly ref: ConfigRef;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number;
  /** RFC 3339, by the server's clock. */
  readonly createdAt: string;
  /** When its spec was last written, as far as the server keeps that: what changed before is none of its business. */
  readonly askedSince: string;
  /** It carries the ignore annotation: nothing is asked for. */
  readonly isIgnored: boolean;
  /** Names that sources of its own namespace, and of those it selects, may have. */
  readonly names: Readonly<Record<'ConfigMap' | 'Secret', readonly NamePattern[]>>;
  /** Labels that make a source one that is watched; undefined: labels alone make none. */
  readonly resourceSelector: Selector | undefined;
  /** Namespaces beside its own whose sources are meant, if they allow it; undefined: none. */
  readonly namespaceSelector: Selector | undefined;
  /** Labels that a source must have in any case. */
  readonly matchLabels: Selector;
  /** Each target also for all that it uses. */
  readonly autoReloadAll: boolean;
  readonly ignored: readonly IgnoredSource[];
  /** Each workload once. */
  readonly targets: readonly ConfigTarget[];
  readonly lifecycle: Pick<Overrides, 'reloadOnCreate' | 'reloadOnDelete'>;
  /** False: what it leads to is sent to no alert sink. */
  readonly alerts: boolean;
  readonly problems: readonly ConfigProblem[];
}

/** A workload that a ReloaderConfig names. */
export interface ConfigTarget {
  /** Of the field: `spec.targets[2]`. */
  readonly path: string;
  readonly ref: WorkloadRef;
  /** Only for sources that its pod template names. */
  readonly mustReference: boolean;
  /** As the target says, else the spec; undefined: the flag counts. */
  readonly reloadStrategy: StakaterStrategy | undefined;
  readonly rolloutStrategy: RolloutStrategy | undefined;
  readonly pausePeriodMs: number | undefined;
}

/** Whether it means workloads or sources of another namespace: only then does it matter who allows what. */
export const namesOthers = ({ ref, namespaceSelector, targets }: ReloaderConfig): boolean =>
  namespaceSelector !== undefined || targets.some((target) => target.ref.namespace !== ref.namespace);

/** Whether what namespaces are called is enough to know which of them it selects. */
export const isByName = (namespaces: Selector): boolean => namespaces.every(({ key }) => key === NAMESPACE_NAME);
