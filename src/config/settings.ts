import { type AnnotationKeys, DEFAULT_KEYS } from '../api/annotations.ts';
import { WORKLOAD_KINDS } from '../api/kinds.ts';
import type { ControllerOptions } from '../domain/controller-options.ts';
import { isSubdomain } from '../domain/text/subdomain.ts';
import { type Diagnostics, quote } from './diagnostics.ts';
import { selectorOf } from './label-selector.ts';
import type { ControllerValues } from './options/controller.ts';
import type { PublishedFlags } from './published-flags.ts';
import { watchedNamespaces } from './watched-namespaces.ts';

/** Options that need no word of their own: they are taken over as they were read. */
const AS_READ = [
  'enableCsiIntegration',
  'watchHelmSecrets',
  'autoReloadAll',
  'reloadOnCreate',
  'reloadOnDelete',
  'syncAfterRestart',
  'isArgoRollouts',
  'reloadStrategy',
  'reloaderConfig',
  'rolloutStrategy',
  'concurrency',
  'webhookUrl',
  'logFormat',
  'logLevel',
  'metricsByNamespace',
  'enableHa',
  'podName',
  'podNamespace',
  'deploymentName',
  'listenAddress',
  'kubeconfig',
  'context',
  'enablePprof',
  'pprofAddr',
  'admission',
] as const satisfies readonly (keyof ControllerValues)[];

type AsRead = Pick<ControllerValues, (typeof AS_READ)[number]>;

/** Everything that flags and environment decide, checked and in the words of the program. */
export interface Settings extends ControllerOptions, AsRead {
  /** As written; `ignoredKinds` is what it means. */
  readonly ignoredWorkloadTypes: readonly string[];
  readonly alerts: ReturnType<typeof alertsOf>;
  readonly admissionServer: ReturnType<typeof admissionOf>;
  /** '': reloader-meta-info is not written. */
  readonly metaInfoNamespace: string;
  readonly published: PublishedFlags;
}

/** Puts the values of the rows together, and checks what no row can check alone. */
export function toSettings(
  values: ControllerValues,
  given: ReadonlySet<string>,
  diagnostics: Diagnostics,
): Omit<Settings, 'published'> {
  const compat = values.compat.has('stakater');
  if (values.enableHa && values.podName === '') diagnostics.problems.push(needs('POD_NAME'));
  if (values.enableHa && values.podNamespace === '') diagnostics.problems.push(needs('POD_NAMESPACE'));
  const ignoredWorkloadTypes = workloadTypesOf(values.ignoredWorkloadTypes, diagnostics);
  const ignored = WORKLOAD_KINDS.filter(({ plural }) => ignoredWorkloadTypes.includes(plural));
  return {
    ...(Object.fromEntries(AS_READ.map((name) => [name, values[name]])) as unknown as AsRead),
    compat,
    sapCompat: values.compat.has('sap'),
    scope: watchedNamespaces(values, diagnostics),
    resourceLabelSelector: selectorOf('resourceLabelSelector', values, diagnostics),
    resourcesToIgnore: resourcesOf(values.resourcesToIgnore, diagnostics),
    ignoredWorkloadTypes,
    ignoredKinds: new Set(ignored.map(({ kind }) => kind)),
    keys: keysOf(values),
    quietPeriodMs: compat && !given.has('quiet-period') ? 0 : values.quietPeriod,
    maxWaitMs: values.maxWait,
    catchUpMaxMs: values.catchUpMax,
    allowReloads: allowancesOf(values.allowReloads, diagnostics),
    alerts: alertsOf(values),
    admissionServer: admissionOf(values, diagnostics),
    ownNamespace: values.attuneNamespace || values.podNamespace || values.reloaderNamespace,
    metaInfoNamespace: values.reloaderNamespace,
  };
}

// A certificate has to outlive the minutes in which everybody learns of the next one.
const SHORTEST_LIFE_MS = 60_000;

function admissionOf(values: ControllerValues, { problems }: Diagnostics) {
  const { admissionUrl: url, admissionListen: listen, admissionCertLife: certLifeMs } = values;
  if (certLifeMs < SHORTEST_LIFE_MS) problems.push('--admission-cert-life must be 60s or more');
  return {
    listen,
    /** '': the Service is registered. */
    url,
    failurePolicy: values.admissionFailurePolicy,
    /** '': the certificate is our own. */
    certDir: values.admissionCertDir,
    certLifeMs,
    /** Whether marks and records are put back. */
    marks: values.admissionMarks,
    /** Of the MutatingWebhookConfiguration, the Service and the Secret. */
    name: values.admissionName,
    drainMs: values.drain,
  };
}

const needs = (variable: string): string => `--enable-ha needs the environment variable ${variable}`;

/** As upstream: with one wrong word no type is ignored at all. Better a reload too many than none. */
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

/** By the namespace that allows it, the namespaces that may. */
function allowancesOf(given: readonly string[], { problems }: Diagnostics): Settings['allowReloads'] {
  const allowed = new Map<string, Set<string>>();
  for (const text of given) {
    const [to = '', from = '', ...more] = text.split('=').map((word) => word.trim());
    const isRight = isNamespace(to) && (from === '*' || isNamespace(from)) && more.length === 0;
    if (!isRight) problems.push(`--allow-reloads must be TO=FROM, two names of namespaces, not ${quote(text)}`);
    else allowed.set(to, (allowed.get(to) ?? new Set<string>()).add(from));
  }
  return allowed;
}

const isNamespace = (name: string): boolean => isSubdomain(name) && !name.includes('.');

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

const alertsOf = (values: ControllerValues) => ({
  enabled: values.alertOnReload,
  url: values.alertWebhookUrl.trim(),
  sink: SINKS.find((sink) => sink === values.alertSink.trim().toLowerCase()) ?? ('raw' as const),
  /** Undefined: no prefix at all. */
  additionalInfo: values.alertAdditionalInfo?.trim(),
  proxy: values.alertWebhookProxy.trim(),
});
