import { DEFAULT_KEYS } from '../../api/annotations.ts';
import {
  bool,
  count,
  duration,
  exactly,
  exactlyTrue,
  httpsUrl,
  httpUrl,
  inGroup,
  listen,
  type Option,
  oneOf,
  someOf,
  strings,
  text,
  textIfPresent,
} from './option.ts';
import type { ValuesOf } from './option-table.ts';

const { named, typedAuto } = DEFAULT_KEYS;

const key = (flag: string, fallback: string, meaning: string): Option<string> =>
  text({ flag, fallback, doc: `Annotation key ${meaning}.` });

/** Every setting of `attune controller`: the flags, the variables, `--help` and docs/flags.md all come from here. */
export const CONTROLLER_OPTIONS = {
  ...inGroup('scope', {
    namespaces: strings({
      flag: 'namespaces',
      doc: 'Watch these namespaces and no others; Roles there are enough. Beats KUBERNETES_NAMESPACE.',
    }),
    kubernetesNamespace: text({
      env: 'KUBERNETES_NAMESPACE',
      doc: 'Watch this namespace only. Unset, and without --namespaces, all namespaces are watched.',
    }),
    namespacesToIgnore: strings({
      flag: 'namespaces-to-ignore',
      doc: 'Leave these namespaces alone. Only when all namespaces are watched.',
    }),
    namespaceSelector: strings({
      flag: 'namespace-selector',
      doc:
        'Only namespaces whose labels match, now or later: `team=a`, `tier in (web,api)` (quote an element that ' +
        'contains a comma), also `key:value` and `key:*`. Only when all namespaces are watched.',
    }),
    resourceLabelSelector: strings({
      flag: 'resource-label-selector',
      doc: 'Only ConfigMaps, Secrets and SecretProviderClassPodStatuses whose labels match. Syntax as for namespaces.',
    }),
    resourcesToIgnore: strings({
      flag: 'resources-to-ignore',
      doc: 'Do not watch `configmaps`, or do not watch `secrets`; one of them, not both.',
    }),
    enableCsiIntegration: bool({
      flag: 'enable-csi-integration',
      doc: 'Watch what the Secrets Store CSI driver mounts (SecretProviderClassPodStatus).',
    }),
    watchHelmSecrets: bool({
      flag: 'watch-helm-secrets',
      doc: 'Also watch Secrets of type helm.sh/release.v1. They are large, and no workload mounts them.',
    }),
  }),
  ...inGroup('choice', {
    autoReloadAll: bool({
      flag: 'auto-reload-all',
      doc: 'Reload every workload that uses what changed, unless its own auto annotation says otherwise.',
    }),
    reloadOnCreate: exactlyTrue({
      flag: 'reload-on-create',
      doc: 'Exactly `true`: a source that appears counts as a change.',
    }),
    reloadOnDelete: exactlyTrue({
      flag: 'reload-on-delete',
      doc: 'Exactly `true`: a source that disappears counts as a change.',
    }),
    syncAfterRestart: bool({
      flag: 'sync-after-restart',
      doc: 'Accepted for the sake of values that have it: the ledger applies what came, changed or went meanwhile, once.',
    }),
    isArgoRollouts: exactlyTrue({
      flag: 'is-Argo-Rollouts',
      doc: 'Exactly `true`: reload Argo Rollouts too. Mind the capitals.',
    }),
    ignoredWorkloadTypes: strings({
      flag: 'ignored-workload-types',
      doc: 'Leave `jobs`, `cronjobs` or both alone. One wrong word and the whole list counts as empty.',
    }),
  }),
  ...inGroup('effect', {
    compat: someOf(['stakater', 'sap'], {
      flag: 'compat',
      env: 'ATTUNE_COMPAT',
      doc:
        'A list. `stakater`: the decisions, marks and quirks of Stakater Reloader v1, at once and without records of ' +
        'our own on workloads. `sap`: the digests and quirks of SAP pod-reloader, for workloads with its annotations.',
    }),
    reloadStrategy: oneOf(['env-vars', 'annotations'], {
      flag: 'reload-strategy',
      fallback: 'env-vars',
      doc: 'What is changed in the pod template: a variable of one container (`env-vars`) or an annotation (`annotations`).',
    }),
    quietPeriod: duration({
      flag: 'quiet-period',
      fallback: '1s',
      doc:
        'Wait until nothing has changed for this long, so that one batch of changes is one rollout. 0: at once, ' +
        'which is also the default under --compat=stakater.',
    }),
    maxWait: duration({
      flag: 'max-wait',
      fallback: '10s',
      doc:
        'Roll at the latest this long after the first change, even if sources keep changing, and even if this is ' +
        'shorter than --quiet-period.',
    }),
    catchUpMax: duration({
      flag: 'catch-up-max',
      fallback: '24h',
      doc: 'After an absence longer than this, what changed meanwhile is taken as known and rolls nothing.',
    }),
    concurrency: count({
      flag: 'concurrency',
      fallback: '32',
      doc: 'How many workloads are written to at the same time. Writes that the server is slow to answer are not counted.',
    }),
  }),
  ...inGroup('keys', {
    configmapAnnotation: key('configmap-annotation', named.ConfigMap, 'that names ConfigMaps'),
    secretAnnotation: key('secret-annotation', named.Secret, 'that names Secrets'),
    autoAnnotation: key('auto-annotation', DEFAULT_KEYS.auto, 'for reloading on everything that is used'),
    configmapAutoAnnotation: key('configmap-auto-annotation', typedAuto.ConfigMap, 'for all used ConfigMaps'),
    secretAutoAnnotation: key('secret-auto-annotation', typedAuto.Secret, 'for all used Secrets'),
    autoSearchAnnotation: key('auto-search-annotation', DEFAULT_KEYS.search, 'for used sources that carry a match'),
    searchMatchAnnotation: key('search-match-annotation', DEFAULT_KEYS.match, 'of the match, on the source'),
    ignoreAnnotation: key('ignore-annotation', DEFAULT_KEYS.ignore, 'that exempts a source'),
    pauseDeploymentAnnotation: key('pause-deployment-annotation', DEFAULT_KEYS.pausePeriod, 'of the pause period'),
    pauseDeploymentTimeAnnotation: key(
      'pause-deployment-time-annotation',
      DEFAULT_KEYS.pausedAt,
      'under which the time of the pause is kept',
    ),
  }),
  ...inGroup('reloaderConfig', {
    reloaderConfig: bool({
      flag: 'reloader-config',
      fallback: 'true',
      doc: 'Follow ReloaderConfigs, as soon as their CustomResourceDefinition is installed.',
    }),
    rolloutStrategy: oneOf(['rollout', 'restart'], {
      flag: 'rollout-strategy',
      fallback: 'rollout',
      doc:
        'Where a ReloaderConfig does not say: a rolling update of the template (`rollout`), or eviction of the pods, one ' +
        'at a time (`restart`).',
    }),
    allowReloads: strings({
      flag: 'allow-reloads',
      doc:
        'A list of TO=FROM: ReloaderConfigs of namespace FROM (`*`: of any) may name workloads and sources of namespace ' +
        'TO. The owner of TO can say the same by the annotation `attune.dev/allow-reloads-from` on the Namespace.',
    }),
  }),
  ...inGroup('admission', {
    admission: bool({
      flag: 'admission',
      doc: 'Also serve admission (`attune admission`), on every replica. Needs a registration: `attune admission install`.',
    }),
    admissionMarks: bool({
      flag: 'admission-marks',
      fallback: 'true',
      doc: 'Put marks and record of a reload back when another writer drops them. Off: only SAP annotations are served.',
    }),
    admissionListen: listen({
      flag: 'admission-listen',
      fallback: ':9443',
      local: true,
      doc: 'Where admission is served, over TLS.',
    }),
    admissionUrl: httpsUrl({
      flag: 'admission-url',
      local: true,
      sensitive: true,
      doc:
        'Where the API server reaches an Attune that runs outside the cluster, instead of the Service. The flag registers ' +
        'nothing: run `attune admission install --admission-url=URL`.',
    }),
    admissionFailurePolicy: oneOf(['Ignore', 'Fail'], {
      flag: 'admission-failure-policy',
      fallback: 'Ignore',
      doc:
        'What the API server does with a write to a concerned workload while nobody answers: `Ignore` lets it pass, ' +
        '`Fail` refuses it.',
    }),
    admissionCertDir: text({
      flag: 'admission-cert-dir',
      local: true,
      doc:
        'Folder with tls.crt, tls.key and, if Attune is to write the `caBundle`, ca.crt, as cert-manager writes them. Unset: ' +
        'Attune makes its own.',
    }),
    admissionCertLife: duration({
      flag: 'admission-cert-life',
      fallback: '8760h',
      doc: 'How long a certificate of our own is valid. It is renewed after two thirds of it.',
    }),
    admissionName: text({
      env: 'ATTUNE_ADMISSION_NAME',
      fallback: 'attune-admission',
      doc: 'Name of the MutatingWebhookConfiguration, and of Service and Secret in the own namespace.',
    }),
    drain: duration({
      flag: 'drain',
      fallback: '10s',
      doc: 'How long admission is still served after SIGTERM, until every API server knows that this replica goes.',
    }),
  }),
  ...inGroup('output', {
    logFormat: text({ flag: 'log-format', doc: 'Empty for text, `json` for one JSON object per line.' }),
    logLevel: text({
      flag: 'log-level',
      fallback: 'info',
      doc: 'trace, debug, info, warning, error, fatal or panic. Not applied when the format is unknown.',
    }),
    metricsByNamespace: exactly('enabled', {
      env: 'METRICS_COUNT_BY_NAMESPACE',
      doc: 'Exactly `enabled`: also count reloads per namespace.',
    }),
    webhookUrl: httpUrl({
      flag: 'webhook-url',
      sensitive: true,
      doc: 'POST to this URL for every change of a source, whatever the annotations say, and reload nothing.',
    }),
    alertOnReload: exactly('true', {
      env: 'ALERT_ON_RELOAD',
      doc: 'Exactly `true`: send an alert after each successful reload.',
    }),
    alertSink: text({ env: 'ALERT_SINK', doc: '`slack`, `teams` or `gchat`; anything else receives plain text.' }),
    alertWebhookUrl: text({ env: 'ALERT_WEBHOOK_URL', sensitive: true, doc: 'Where alerts are sent.' }),
    alertWebhookProxy: text({
      env: 'ALERT_WEBHOOK_PROXY',
      sensitive: true,
      doc: 'HTTP proxy for alerts. HTTP_PROXY and HTTPS_PROXY are not used.',
    }),
    alertAdditionalInfo: textIfPresent({
      env: 'ALERT_ADDITIONAL_INFO',
      sensitive: true,
      doc: 'If present, its text and ` : ` come before each alert.',
    }),
  }),
  ...inGroup('process', {
    enableHa: bool({
      flag: 'enable-ha',
      doc: 'Elect a leader among several replicas. Needs POD_NAME and POD_NAMESPACE.',
    }),
    podName: text({ env: 'POD_NAME', doc: 'Own name, the identity in the Lease.' }),
    podNamespace: text({ env: 'POD_NAMESPACE', doc: 'Own namespace, where the Lease is.' }),
    attuneNamespace: text({
      env: 'ATTUNE_NAMESPACE',
      doc: 'Where the ledger and attune-info are kept. Unset: POD_NAMESPACE, RELOADER_NAMESPACE, or that of the service account.',
    }),
    reloaderNamespace: text({
      env: 'RELOADER_NAMESPACE',
      doc: 'Where the ConfigMap reloader-meta-info is written. Unset: it is not written.',
    }),
    deploymentName: text({
      env: 'RELOADER_DEPLOYMENT_NAME',
      doc: 'Name of the own Deployment, for reloader-meta-info.',
    }),
    listenAddress: text({
      env: 'ATTUNE_LISTEN_ADDRESS',
      doc: 'Host on which port 9090 is opened. Unset: all interfaces.',
    }),
    kubeconfig: text({
      flag: 'kubeconfig',
      local: true,
      env: 'KUBECONFIG',
      doc: 'Path of the kubeconfig. Unset: ~/.kube/config if it exists, else the service account of the pod.',
    }),
    context: text({ flag: 'context', local: true, doc: 'Context of the kubeconfig. Unset: its current one.' }),
    enablePprof: bool({
      flag: 'enable-pprof',
      doc: 'Accepted and without effect: no profiler is opened on the network.',
    }),
    pprofAddr: text({ flag: 'pprof-addr', fallback: ':6060', doc: 'Accepted and without effect, see --enable-pprof.' }),
  }),
} as const;

export type ControllerValues = ValuesOf<typeof CONTROLLER_OPTIONS>;
