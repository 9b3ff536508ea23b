import { describe, expect, test } from 'vitest';
import { accepted, settings } from '../../test/support/settings.ts';
import { DEFAULT_KEYS } from '../api/annotations.ts';
import { CONTROLLER_OPTIONS } from './options/controller.ts';
import { type Environment, rowsOf } from './options/option-table.ts';
import type { Settings } from './settings.ts';

test('nothing given: the documented defaults', () => {
  expect(accepted([])).toEqual({
    ok: true,
    settings: {
      compat: false,
      sapCompat: false,
      scope: { mode: 'global', ignore: [], selector: undefined },
      resourceLabelSelector: undefined,
      resourcesToIgnore: new Set(),
      enableCsiIntegration: false,
      watchHelmSecrets: false,
      autoReloadAll: false,
      reloadOnCreate: false,
      reloadOnDelete: false,
      syncAfterRestart: false,
      isArgoRollouts: false,
      ignoredWorkloadTypes: [],
      ignoredKinds: new Set(),
      keys: DEFAULT_KEYS,
      reloadStrategy: 'env-vars',
      reloaderConfig: true,
      rolloutStrategy: 'rollout',
      allowReloads: new Map(),
      quietPeriodMs: 1000,
      maxWaitMs: 10_000,
      catchUpMaxMs: 86_400_000,
      concurrency: 32,
      webhookUrl: '',
      alerts: { enabled: false, url: '', sink: 'raw', additionalInfo: undefined, proxy: '' },
      admission: false,
      admissionServer: {
        listen: { host: '', port: 9443 },
        url: '',
        failurePolicy: 'Ignore',
        certDir: '',
        certLifeMs: 365 * 86_400_000,
        marks: true,
        name: 'attune-admission',
        drainMs: 10_000,
      },
      logFormat: '',
      logLevel: 'info',
      metricsByNamespace: false,
      enableHa: false,
      podName: '',
      podNamespace: '',
      ownNamespace: '',
      metaInfoNamespace: '',
      deploymentName: '',
      listenAddress: '',
      kubeconfig: '',
      context: '',
      enablePprof: false,
      pprofAddr: ':6060',
      published: { shown: [], withheld: [] },
    },
    warnings: [
      'RELOADER_NAMESPACE is unset, the ConfigMap reloader-meta-info is not written',
      'KUBERNETES_NAMESPACE is unset, will detect changes in all namespaces.',
    ],
  });
});

test('every fallback of the table is valid by the rules of its own row', () => {
  for (const [name, option] of rowsOf(CONTROLLER_OPTIONS)) {
    expect(option.parse([]), name).toHaveProperty('value');
    expect([name, option.flag ?? option.env]).not.toContain(undefined);
  }
});

test("Stakater's flags and ours, and no others", () => {
  const flags = rowsOf(CONTROLLER_OPTIONS).flatMap(([, { flag }]) => flag ?? []);
  expect(flags.toSorted()).toEqual([
    'admission',
    'admission-cert-dir',
    'admission-cert-life',
    'admission-failure-policy',
    'admission-listen',
    'admission-marks',
    'admission-url',
    'allow-reloads',
    'auto-annotation',
    'auto-reload-all',
    'auto-search-annotation',
    'catch-up-max',
    'compat',
    'concurrency',
    'configmap-annotation',
    'configmap-auto-annotation',
    'context',
    'drain',
    'enable-csi-integration',
    'enable-ha',
    'enable-pprof',
    'ignore-annotation',
    'ignored-workload-types',
    'is-Argo-Rollouts',
    'kubeconfig',
    'log-format',
    'log-level',
    'max-wait',
    'namespace-selector',
    'namespaces',
    'namespaces-to-ignore',
    'pause-deployment-annotation',
    'pause-deployment-time-annotation',
    'pprof-addr',
    'quiet-period',
    'reload-on-create',
    'reload-on-delete',
    'reload-strategy',
    'reloader-config',
    'resource-label-selector',
    'resources-to-ignore',
    'rollout-strategy',
    'search-match-annotation',
    'secret-annotation',
    'secret-auto-annotation',
    'sync-after-restart',
    'watch-helm-secrets',
    'webhook-url',
  ]);
});

describe('flags', () => {
  test.each<[readonly string[], Partial<Settings>]>([
    [['--auto-reload-all'], { autoReloadAll: true }],
    [['--auto-reload-all=T'], { autoReloadAll: true }],
    [['--auto-reload-all=true', '--auto-reload-all=0'], { autoReloadAll: false }],
    [['--sync-after-restart'], { syncAfterRestart: true }],
    [['--enable-csi-integration=1'], { enableCsiIntegration: true }],
    [['--watch-helm-secrets'], { watchHelmSecrets: true }],
    [['--reload-on-create=true'], { reloadOnCreate: true }],
    [['--reload-on-create', 'true'], { reloadOnCreate: true }],
    [['--reload-on-create=True'], { reloadOnCreate: false }],
    [['--reload-on-delete=1'], { reloadOnDelete: false }],
    [['--reload-on-delete=true'], { reloadOnDelete: true }],
    [['--is-Argo-Rollouts=true'], { isArgoRollouts: true }],
    [['--is-Argo-Rollouts='], { isArgoRollouts: false }],
    [['--compat=sap'], { compat: false, sapCompat: true }],
    [['--compat=stakater,sap'], { compat: true, sapCompat: true }],
    [['--compat=sap', '--compat=stakater'], { compat: true, sapCompat: true }],
    [['--compat='], { compat: false, sapCompat: false }],
    [['--reload-strategy=annotations'], { reloadStrategy: 'annotations' }],
    [['--resources-to-ignore=ConfigMaps'], { resourcesToIgnore: new Set(['configmaps']) }],
    [['--resources-to-ignore=secrets'], { resourcesToIgnore: new Set(['secrets']) }],
    [['--resources-to-ignore='], { resourcesToIgnore: new Set() }],
    [['--ignored-workload-types=jobs'], { ignoredWorkloadTypes: ['jobs'], ignoredKinds: new Set(['Job']) }],
    [
      ['--ignored-workload-types=jobs', '--ignored-workload-types=cronjobs'],
      { ignoredKinds: new Set(['CronJob', 'Job']) },
    ],
    [['--ignored-workload-types=jobs,Jobs'], { ignoredWorkloadTypes: [], ignoredKinds: new Set() }],
    [
      ['--quiet-period=500ms', '--max-wait', '1m30s', '--catch-up-max=0'],
      { quietPeriodMs: 500, maxWaitMs: 90_000, catchUpMaxMs: 0 },
    ],
    [['--concurrency=1'], { concurrency: 1 }],
    [['--webhook-url=https://example.com/a?b'], { webhookUrl: 'https://example.com/a?b' }],
    [['--log-format=json', '--log-level=WARN'], { logFormat: 'json', logLevel: 'WARN' }],
    [['--pprof-addr=:1'], { pprofAddr: ':1' }],
    [['--compat=stakater'], { compat: true, quietPeriodMs: 0 }],
    [['--compat=stakater', '--quiet-period=1s'], { compat: true, quietPeriodMs: 1000 }],
    [['--compat='], { compat: false, quietPeriodMs: 1000 }],
  ])('%j', (argv, expected) => {
    expect(settings(argv)).toMatchObject(expected);
  });

  test('each annotation flag renames its own key and no other', () => {
    const argv = [
      '--configmap-annotation=a',
      '--secret-annotation=b',
      '--auto-annotation=c',
      '--configmap-auto-annotation=d',
      '--secret-auto-annotation=e',
      '--auto-search-annotation=f',
      '--search-match-annotation=g',
      '--ignore-annotation=h',
      '--pause-deployment-annotation=i',
      '--pause-deployment-time-annotation=j',
    ];
    expect(settings(argv).keys).toEqual({
      auto: 'c',
      search: 'f',
      match: 'g',
      ignore: 'h',
      pausePeriod: 'i',
      pausedAt: 'j',
      named: { ...DEFAULT_KEYS.named, ConfigMap: 'a', Secret: 'b' },
      typedAuto: { ...DEFAULT_KEYS.typedAuto, ConfigMap: 'd', Secret: 'e' },
      exclude: DEFAULT_KEYS.exclude,
    });
  });
});

describe('environment', () => {
  test.each<[Environment, Partial<Settings>]>([
    [{ ATTUNE_COMPAT: 'stakater' }, { compat: true, quietPeriodMs: 0 }],
    [{ ATTUNE_COMPAT: '' }, { compat: false }],
    [{ METRICS_COUNT_BY_NAMESPACE: 'enabled' }, { metricsByNamespace: true }],
    [{ METRICS_COUNT_BY_NAMESPACE: 'true' }, { metricsByNamespace: false }],
    [{ ATTUNE_LISTEN_ADDRESS: '127.0.0.9' }, { listenAddress: '127.0.0.9' }],
    [{ KUBECONFIG: '/k', HOME: '/h' }, { kubeconfig: '/k' }],
    // A container runtime sets HOME in every pod; whether there is a kubeconfig is seen when it is looked for.
    [{ HOME: '/h' }, { kubeconfig: '' }],
    [
      { RELOADER_NAMESPACE: 'r', POD_NAMESPACE: 'p', ATTUNE_NAMESPACE: 'a' },
      { ownNamespace: 'a', metaInfoNamespace: 'r' },
    ],
    [
      { RELOADER_NAMESPACE: 'r', POD_NAMESPACE: 'p' },
      { ownNamespace: 'p', podNamespace: 'p' },
    ],
    [
      { RELOADER_NAMESPACE: 'r', RELOADER_DEPLOYMENT_NAME: 'd' },
      { ownNamespace: 'r', deploymentName: 'd' },
    ],
  ])('%j', (env, expected) => {
    expect(settings([], env)).toMatchObject(expected);
  });

  test.each<[Environment, Partial<Settings['alerts']>]>([
    [{ ALERT_ON_RELOAD: 'true' }, { enabled: true }],
    [{ ALERT_ON_RELOAD: 'True' }, { enabled: false }],
    [{ ALERT_SINK: ' Slack ' }, { sink: 'slack' }],
    [{ ALERT_SINK: 'TEAMS' }, { sink: 'teams' }],
    [{ ALERT_SINK: 'gchat' }, { sink: 'gchat' }],
    [{ ALERT_SINK: 'webhook' }, { sink: 'raw' }],
    [{ ALERT_WEBHOOK_URL: ' https://x/y ' }, { url: 'https://x/y' }],
    [{ ALERT_WEBHOOK_PROXY: 'http://p:1' }, { proxy: 'http://p:1' }],
    [{ ALERT_ADDITIONAL_INFO: ' prod ' }, { additionalInfo: 'prod' }],
    [{ ALERT_ADDITIONAL_INFO: '' }, { additionalInfo: '' }],
  ])('alerts: %j', (env, expected) => {
    expect(settings([], env).alerts).toMatchObject(expected);
  });

  test('a flag beats its variable', () => {
    expect(settings(['--compat='], { ATTUNE_COMPAT: 'stakater' }).compat).toBe(false);
  });
});
