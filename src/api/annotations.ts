import type { SourceKind } from './sources.ts';

/** Keys of annotations, which flags can rename. */
export interface AnnotationKeys {
  readonly auto: string;
  readonly search: string;
  readonly match: string;
  readonly ignore: string;
  readonly pausePeriod: string;
  readonly pausedAt: string;
  readonly named: Readonly<Record<SourceKind, string>>;
  readonly typedAuto: Readonly<Record<SourceKind, string>>;
  readonly exclude: Readonly<Record<SourceKind, string>>;
}

export const DEFAULT_KEYS: AnnotationKeys = {
  auto: 'reloader.stakater.com/auto',
  search: 'reloader.stakater.com/search',
  match: 'reloader.stakater.com/match',
  ignore: 'reloader.stakater.com/ignore',
  pausePeriod: 'deployment.reloader.stakater.com/pause-period',
  pausedAt: 'deployment.reloader.stakater.com/paused-at',
  named: {
    ConfigMap: 'configmap.reloader.stakater.com/reload',
    Secret: 'secret.reloader.stakater.com/reload',
    SecretProviderClass: 'secretproviderclass.reloader.stakater.com/reload',
  },
  typedAuto: {
    ConfigMap: 'configmap.reloader.stakater.com/auto',
    Secret: 'secret.reloader.stakater.com/auto',
    SecretProviderClass: 'secretproviderclass.reloader.stakater.com/auto',
  },
  exclude: {
    ConfigMap: 'configmaps.exclude.reloader.stakater.com/reload',
    Secret: 'secrets.exclude.reloader.stakater.com/reload',
    SecretProviderClass: 'secretproviderclasses.exclude.reloader.stakater.com/reload',
  },
};

export const ROLLOUT_STRATEGY = 'reloader.stakater.com/rollout-strategy';
export const LAST_RELOADED_FROM = 'reloader.stakater.com/last-reloaded-from';
/** Written by reloader-operator. Nobody reads it. */
export const LAST_RELOAD = 'reloader.stakater.com/last-reload';

/** SAP pod-reloader's keys: no flag renames them. */
export const SAP_LISTS = {
  ConfigMap: 'pod-reloader.cs.sap.com/configmaps',
  Secret: 'pod-reloader.cs.sap.com/secrets',
} as const;
/** On the pod template: the digest whose change rolls the pods. On the workload: the digest that a client expects, a token. */
export const CONFIG_HASH = 'pod-reloader.cs.sap.com/config-hash';
/** Labels of a workload; one of them with the value "true" switches SAP's annotations off. */
export const SAP_DISABLING_LABELS = ['pod-reloader.cs.sap.com/ignored', 'pod-reloader.cs.sap.com/disabled'] as const;

/** On a workload: what has been applied to it. */
export const RECORD = 'attune.dev/record';
/** On a Job that took another's place: when, for the cooldown that a ReloaderConfig asks for. */
export const RELOADED_AT = 'attune.dev/reloaded-at';
export const QUIET_PERIOD = 'attune.dev/quiet-period';
export const MAX_WAIT = 'attune.dev/max-wait';
export const ON_CHANGE = 'attune.dev/on-change';
/** On a workload: a new value, whatever it is, makes us retry at once what the API server refused. */
export const RETRY = 'attune.dev/retry';
/** On the pod template: makes it differ when data has changed but Stakater's hash is the same. */
export const NUDGE = 'attune.dev/nudge';
/** On a Namespace: whose ReloaderConfigs may name its workloads as targets, and its sources. */
export const ALLOW_RELOADS_FROM = 'attune.dev/allow-reloads-from';
/** On an Event, for programs: all sources that it is about, of which the message names a few. */
export const SOURCES = 'attune.dev/sources';
/** On an Event, for programs: what happened, by the word that the outcome has in the code. */
export const OUTCOME = 'attune.dev/outcome';
