import { type AnnotationKeys, DEFAULT_KEYS } from '../api/annotations.ts';
import { type KindName, WORKLOAD_KINDS } from '../api/kinds.ts';
import { type Diagnostics, quote } from './diagnostics.ts';
import { selectorOf } from './label-selector.ts';
import type { ControllerValues } from './options/controller.ts';
import type { PublishedFlags } from './published-flags.ts';
import { type WatchedNamespaces, watchedNamespaces } from './watched-namespaces.ts';

interface AlertSettings {
  readonly enabled: boolean;
  readonly url: string;
  readonly sink: 'slack' | 'teams' | 'gchat' | 'raw';
  /** Undefined: no prefix at all. */
  readonly additionalInfo: string | undefined;
  readonly proxy: string;
}

/** Everything that flags and environment decide, checked and in the words of the program. */
export interface Settings {
  readonly compat: boolean;
  readonly scope: WatchedNamespaces;
  readonly resourceLabelSelector: string | undefined;
  readonly resourcesToIgnore: ReadonlySet<'configmaps' | 'secrets'>;
  readonly enableCsiIntegration: boolean;
  readonly watchHelmSecrets: boolean;
  readonly autoReloadAll: boolean;
  readonly reloadOnCreate: boolean;
  readonly reloadOnDelete: boolean;
  readonly syncAfterRestart: boolean;
  readonly isArgoRollouts: boolean;
  /** As written; `ignoredKinds` is what it means. */
  readonly ignoredWorkloadTypes: readonly string[];
  readonly ignoredKinds: ReadonlySet<KindName>;
  readonly keys: AnnotationKeys;
  readonly reloadStrategy: 'env-vars' | 'annotations';
  readonly quietPeriodMs: number;
  readonly maxWaitMs: number;
  readonly catchUpMaxMs: number;
  readonly concurrency: number;
  readonly webhookUrl: string;
  readonly alerts: AlertSettings;
  readonly logFormat: string;
  readonly logLevel: string;
  readonly metricsByNamespace: boolean;
  readonly enableHa: boolean;
  readonly podName: string;
  readonly podNamespace: string;
  /** '': the environment does not say. */
  readonly ownNamespace: string;
  /** '': reloader-meta-info is not written. */
  readonly metaInfoNamespace: string;
  readonly deploymentName: string;
  /** '': all interfaces. */
  readonly listenAddress: string;
  /** '': the usual places. */
  readonly kubeconfig: string;
  /** '': the current one. */
  readonly context: string;
  readonly enablePprof: boolean;
  readonly pprofAddr: string;
  /** What everybody may know of all this. */
  readonly published: PublishedFlags;
}

/** Puts the values of the rows together, and checks what no row can check alone. */
export function toSettings(
  values: ControllerValues,
  given: ReadonlySet<string>,
  diagnostics: Diagnostics,
): Omit<Settings, 'published'> {
  const compat = values.compat === 'stakater';
  if (values.enableHa && values.podName === '') diagnostics.problems.push(needs('POD_NAME'));
  if (values.enableHa && values.podNamespace === '') diagnostics.problems.push(needs('POD_NAMESPACE'));
  return {
    compat,
    scope: watchedNamespaces(values, diagnostics),
    resourceLabelSelector: selectorOf('resourceLabelSelector', values, diagnostics),
    resourcesToIgnore: resourcesOf(values.resourcesToIgnore, diagnostics),
    enableCsiIntegration: values.enableCsiIntegration,
    watchHelmSecrets: values.watchHelmSecrets,
    ...choicesOf(values, diagnostics),
    keys: keysOf(values),
    reloadStrategy: values.reloadStrategy,
    quietPeriodMs: compat && !given.has('quiet-period') ? 0 : values.quietPeriod,
    maxWaitMs: values.maxWait,
    catchUpMaxMs: values.catchUpMax,
    concurrency: values.concurrency,
    webhookUrl: values.webhookUrl,
    alerts: alertsOf(values),
    logFormat: values.logFormat,
    logLevel: values.logLevel,
    metricsByNamespace: values.metricsByNamespace,
    enableHa: values.enableHa,
    podName: values.podName,
    podNamespace: values.podNamespace,
    ownNamespace: values.attuneNamespace || values.podNamespace || values.reloaderNamespace,
    metaInfoNamespace: values.reloaderNamespace,
    deploymentName: values.deploymentName,
    listenAddress: values.listenAddress,
    kubeconfig: values.kubeconfig,
    context: values.context,
    enablePprof: values.enablePprof,
    pprofAddr: values.pprofAddr,
  };
}

const needs = (variable: string): string => `--enable-ha needs the environment variable ${variable}`;

function choicesOf(values: ControllerValues, diagnostics: Diagnostics) {
  const ignoredWorkloadTypes = workloadTypesOf(values.ignoredWorkloadTypes, diagnostics);
  const ignored = WORKLOAD_KINDS.filter(({ plural }) => ignoredWorkloadTypes.includes(plural));
  return {
    autoReloadAll: values.autoReloadAll,
    reloadOnCreate: values.reloadOnCreate,
    reloadOnDelete: values.reloadOnDelete,
    syncAfterRestart: values.syncAfterRestart,
    isArgoRollouts: values.isArgoRollouts,
    ignoredWorkloadTypes,
    ignoredKinds: new Set(ignored.map(({ kind }) => kind)),
  };
}

/** Upstream tolerates a wrong word by ignoring nothing at all: better a reload too many than none. */
function workloadTypesOf(given: readonly string[], diagnostics: Diagnostics): readonly string[] {
  const wrong = given.find((word) => word !== 'jobs' && word !== 'cronjobs');
  if (wrong === undefined) return given;
  diagnostics.warnings.push(
    `--ignored-workload-types knows jobs and cronjobs, not ${quote(wrong)}; no workload type is ignored`,
  );
  return [];
}

function resourcesOf(given: readonly string[], diagnostics: Diagnostics): Settings['resourcesToIgnore'] {
  const words = given.map((word) => word.toLowerCase());
  const known = words.filter((word) => word === 'configmaps' || word === 'secrets');
  if (words.length > 1 || known.length < words.length) {
    diagnostics.problems.push(`--resources-to-ignore must be either configmaps or secrets, not ${quote(given.join())}`);
  }
  return new Set(known);
}

function keysOf(values: ControllerValues): AnnotationKeys {
  const { named, typedAuto } = DEFAULT_KEYS;
  return {
    ...DEFAULT_KEYS,
    auto: values.autoAnnotation,
    search: values.autoSearchAnnotation,
    match: values.searchMatchAnnotation,
    ignore: values.ignoreAnnotation,
    pausePeriod: values.pauseDeploymentAnnotation,
    pausedAt: values.pauseDeploymentTimeAnnotation,
    named: { ...named, ConfigMap: values.configmapAnnotation, Secret: values.secretAnnotation },
    typedAuto: { ...typedAuto, ConfigMap: values.configmapAutoAnnotation, Secret: values.secretAutoAnnotation },
  };
}

const SINKS = ['slack', 'teams', 'gchat'] as const;

const alertsOf = (values: ControllerValues): AlertSettings => ({
  enabled: values.alertOnReload,
  url: values.alertWebhookUrl.trim(),
  sink: SINKS.find((sink) => sink === values.alertSink.trim().toLowerCase()) ?? 'raw',
  additionalInfo: values.alertAdditionalInfo?.trim(),
  proxy: values.alertWebhookProxy.trim(),
});
