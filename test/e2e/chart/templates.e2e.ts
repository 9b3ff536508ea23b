import { execFile } from 'node:child_process';
import { cp, mkdtempDisposable, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { environment } from '../../../src/config/load.ts';
import { parseSettings } from '../../../src/config/parse-settings.ts';
import { findBinaries } from '../../../src/sandbox/binaries/binaries.ts';
import { controlPlane } from '../../support/sandbox.ts';
import { CHART, containerOf, helm, helmOrThrow, type Manifest, only, refusal, render, type Values } from './helm.ts';
import { SAP_DEFAULTS } from './sap.ts';
import { STAKATER_DEFAULTS } from './stakater.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

const reloader = (values: Values): Values => ({ reloader: values });
const deployment = (values: Values): Values => reloader({ deployment: values });
const environmentOf = (manifests: readonly Manifest[]) =>
  Object.fromEntries(
    containerOf(manifests).env.map((each: { name: string; value?: string }) => [each.name, each.value ?? 'elsewhere']),
  );

/** Every value set with a meaning of its own; what must hold always is checked over all of them. */
const MATRIX: Readonly<Record<string, Values>> = {
  defaults: {},
  'single namespace': reloader({ watchGlobally: false }),
  'several namespaces': reloader({ watchGlobally: false, namespaces: ['b', 'a'] }),
  'highly available': { reloader: { enableHA: true, deployment: { replicas: 2 } } },
  'all kinds': reloader({ isArgoRollouts: true, isOpenshift: true, enableCSIIntegration: true }),
  'nothing but Deployments': reloader({ ignoreJobs: true, ignoreCronJobs: true, ignoreSecrets: true }),
  selectors: reloader({ namespaceSelector: 'tier in (web,api),team', resourceLabelSelector: 'reload=yes' }),
  'Stakater’s own defaults': STAKATER_DEFAULTS,
  'SAP’s own defaults': SAP_DEFAULTS,
  admission: { attune: { compat: 'stakater,sap', admission: { enabled: true, failurePolicy: 'Fail', drain: '5s' } } },
};

describe('the values of Stakater’s chart', () => {
  it('fit as they are, once the image is left out', async () => {
    const manifests = await render(STAKATER_DEFAULTS);
    expect(containerOf(manifests).args).toEqual(['--log-level=info']);
    expect(only(manifests, 'Deployment').metadata.labels).toMatchObject({ provider: 'stakater' });
  });

  it.each<[Values, string]>([
    [{ autoReloadAll: true }, '--auto-reload-all=true'],
    [{ isArgoRollouts: true }, '--is-Argo-Rollouts=true'],
    [{ ignoreSecrets: true }, '--resources-to-ignore=secrets'],
    [{ ignoreConfigMaps: true }, '--resources-to-ignore=configmaps'],
    [{ ignoreJobs: true }, '--ignored-workload-types=jobs'],
    [{ ignoreCronJobs: true }, '--ignored-workload-types=cronjobs'],
    [{ reloadOnCreate: true }, '--reload-on-create=true'],
    [{ reloadOnDelete: true }, '--reload-on-delete=true'],
    [{ syncAfterRestart: true }, '--sync-after-restart=true'],
    [{ reloadStrategy: 'annotations' }, '--reload-strategy=annotations'],
    [{ ignoreNamespaces: 'a,b' }, '--namespaces-to-ignore=a,b'],
    [{ namespaceSelector: 'tier in (web,api)' }, '--namespace-selector=tier in (web,api)'],
    [{ resourceLabelSelector: 'a=b' }, '--resource-label-selector=a=b'],
    [{ logFormat: 'json' }, '--log-format=json'],
    [{ watchGlobally: false, namespaces: 'b, a,b' }, '--namespaces=a,b,tools'],
    [{ enableHA: true }, '--enable-ha=true'],
    [{ enableCSIIntegration: true }, '--enable-csi-integration=true'],
    [{ custom_annotations: { pauseTime: 'our/paused' } }, '--pause-deployment-time-annotation=our/paused'],
    [{ webhookUrl: 'http://hook' }, '--webhook-url=http://hook'],
  ])('%j is %s', async (values, argument) => {
    expect(containerOf(await render(reloader(values))).args).toContain(argument);
  });

  it('keep object names and selector, so that a release of that chart can be upgraded in place', async () => {
    const { metadata, spec } = only(await render({ nameOverride: 'reloader' }, 'reloader'), 'Deployment');
    expect(metadata.name).toBe('reloader-reloader');
    expect(spec.selector.matchLabels).toEqual({ app: 'reloader-reloader', release: 'reloader' });
  });

  it('are refused with the cure where they still name Stakater’s image', async () => {
    for (const image of [{ name: 'stakater/reloader' }, { repository: 'mirror.local/stakater/reloader-ubi' }]) {
      expect(await refusal({ image })).toContain('another program. Remove both from your values');
    }
  });

  it('may be half a file: every map that is null stays harmless', async () => {
    const nothing = { open: null, secret: null, field: null, existing: null };
    await render(reloader({ deployment: { env: nothing, nodeSelector: null, pod: null }, custom_annotations: null }));
    const kinds = ['serviceMonitor', 'podMonitor', 'podDisruptionBudget', 'netpol', 'verticalPodAutoscaler'];
    await render(reloader(Object.fromEntries(kinds.map((each) => [each, null]))));
  });
});

describe('what the other chart gets wrong', () => {
  it('several replicas get an election with all that it needs', async () => {
    const manifests = await render(deployment({ replicas: 2 }));
    const { spec } = only(manifests, 'Deployment');
    expect(spec).toMatchObject({ replicas: 2, strategy: { type: 'RollingUpdate' } });
    expect(containerOf(manifests).args).toContain('--enable-ha=true');
    expect(environmentOf(manifests)).toMatchObject({ POD_NAME: 'elsewhere', POD_NAMESPACE: 'elsewhere' });
    expect(JSON.stringify(only(manifests, 'Role', 'shop-attune-own')['rules'])).toContain('leases');
  });

  it('a single replica is replaced, never doubled', async () => {
    expect(only(await render(), 'Deployment')['spec'].strategy).toEqual({ type: 'Recreate' });
  });

  it.each<[Values, readonly string[]]>([
    [{}, ['resume']],
    [{ watchGlobally: false }, ['resume', '--namespaces=tools']],
    [{ watchGlobally: false, namespaces: ['shop'] }, ['resume', '--namespaces=shop,tools']],
  ])('%j: before removal pauses are ended where it has rights', async (values, args) => {
    const hook = only(await render(reloader(values)), 'Job');
    expect(hook['spec'].template.spec.containers[0].args).toEqual(args);
  });

  it('env.secret takes any name', async () => {
    const manifests = await render(deployment({ env: { secret: { ALERT_WEBHOOK_PROXY: 'http://proxy:3128' } } }));
    expect(only(manifests, 'Secret')['data']).toEqual({ ALERT_WEBHOOK_PROXY: btoa('http://proxy:3128') });
    expect(environmentOf(manifests)).toHaveProperty('ALERT_WEBHOOK_PROXY');
  });

  it('the network policy lets through names, the API server’s own port, and the sinks in the values', async () => {
    const manifests = await render(
      reloader({
        netpol: { enabled: true },
        webhookUrl: 'http://hook:8080/x',
        deployment: { env: { open: { ALERT_WEBHOOK_URL: 'https://alerts/y' } } },
      }),
    );
    const { egress } = only(manifests, 'NetworkPolicy')['spec'];
    expect(egress.flatMap((rule: Manifest['spec']) => rule.ports.map((each: { port: number }) => each.port))).toEqual([
      53, 53, 443, 6443, 8080, 443,
    ]);
  });

  it('a Service has a port, comes with the ServiceMonitor, and selects by the selector alone', async () => {
    const manifests = await render(
      reloader({ serviceMonitor: { enabled: true }, deployment: { labels: { version: 'v1' } } }),
    );
    const { spec } = only(manifests, 'Service');
    expect(spec.selector).toEqual({ app: 'shop-attune', release: 'shop' });
    expect(spec.ports[0].port).toBe(9090);
  });

  it('contradictions stop with the cure', async () => {
    expect(await refusal(reloader({ ignoreSecrets: true, ignoreConfigMaps: true }))).toContain(
      'Set one of them to false',
    );
    expect(await refusal(reloader({ namespaces: ['a'] }))).toContain('Set reloader.watchGlobally=false');
    expect(await refusal({ attune: { quietPeriod: '1d' } })).toContain('/attune/quietPeriod');
    expect(await refusal({ attune: { quietperiod: '1s' } })).toContain('quietperiod');
  });

  it('values without effect are told after the installation', async () => {
    const args = ['install', 'shop', CHART, '--dry-run=server', '--kubeconfig', controlPlane().kubeconfig];
    const values = reloader({ watchGlobally: false, ignoreNamespaces: 'a', deployment: { replicas: 2 } });
    const { stdout, stderr } = await helm(args, values);
    expect(stderr).toBe('');
    expect(stdout).toContain('replicas is 2 without reloader.enableHA');
    expect(stdout).toContain('only count with watchGlobally=true');
    expect(await helmOrThrow(args, {})).not.toContain('PLEASE CHECK');
  });
});

describe('always', () => {
  it.each(Object.entries(MATRIX))('%s: the program accepts its arguments', async (_, values) => {
    const manifests = await render(values);
    const parsed = parseSettings(containerOf(manifests).args, environmentOf(manifests));
    expect(parsed).toMatchObject({ ok: true });
  });

  it.each(Object.entries(MATRIX))('%s: no right to write users’ Secrets and ConfigMaps', async (_, values) => {
    const manifests = (await render(values)).filter(
      ({ kind, metadata }) => /Role$/.test(kind) && metadata.name === 'shop-attune-role',
    );
    expect(manifests.length).toBeGreaterThan(0);
    const rules = manifests.flatMap((each) => each['rules']);
    for (const rule of rules.filter((each) => /configmaps|secrets/.test(each.resources.join()))) {
      expect(rule.verbs).toEqual(['get', 'list', 'watch']);
    }
    expect(JSON.stringify(rules)).not.toContain('*');
  });

  it('in its own namespace it may write only what it names, and create', async () => {
    const manifests = (await render({})).filter(
      ({ kind, metadata }) => kind === 'Role' && metadata.name !== 'shop-attune-role',
    );
    const rules = manifests.flatMap((each) => each['rules']) as { verbs: string[]; resourceNames?: string[] }[];
    expect(rules.length).toBeGreaterThan(0);
    const unnamed = rules.filter((rule) => rule.resourceNames === undefined);
    expect(new Set(unnamed.flatMap((rule) => rule.verbs))).toEqual(new Set(['create']));
  });

  it('everybody may read the one ConfigMap in which it tells its flags, unless the values say no', async () => {
    const manifests = await render({ namespace: 'elsewhere' });
    const { metadata, rules } = only(manifests, 'Role', 'shop-attune-info');
    expect(metadata.namespace).toBe('elsewhere');
    expect(rules).toEqual([
      { apiGroups: [''], resources: ['configmaps'], resourceNames: ['attune-info'], verbs: ['get'] },
    ]);
    const everybody = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'system:authenticated' };
    expect(only(manifests, 'RoleBinding', 'shop-attune-info')).toMatchObject({
      metadata: { namespace: 'elsewhere' },
      roleRef: { kind: 'Role', name: 'shop-attune-info' },
      subjects: [everybody],
    });
    for (const values of [{ attune: { infoForEverybody: false } }, reloader({ rbac: { enabled: false } })]) {
      expect(JSON.stringify(await render(values))).not.toContain('system:authenticated');
    }
  });

  it('Roles only where namespaces are named, a ClusterRole only where all are watched', async () => {
    const rolesOf = async (values: Values) =>
      (await render(values)).flatMap(({ kind, metadata }) =>
        /Role$/.test(kind) && metadata.name.endsWith('-role') ? [`${kind} ${metadata.namespace ?? ''}`] : [],
      );
    expect(await rolesOf({})).toEqual(['ClusterRole ']);
    expect(await rolesOf(reloader({ watchGlobally: false }))).toEqual(['Role tools']);
    expect(await rolesOf(reloader({ watchGlobally: false, namespaces: ['b', 'a'] }))).toEqual([
      'Role a',
      'Role b',
      'Role tools',
    ]);
  });

  it.each<[unknown, string | undefined]>([
    ['256Mi', '144'],
    ['1Gi', '720'],
    ['512M', '318'],
    [536870912, '336'],
    ['64Mi', '32'],
    [null, undefined],
  ])('memory limit %s: heap of %s MiB', async (memory, heap) => {
    const options = environmentOf(await render(deployment({ resources: { limits: { memory } } })))['NODE_OPTIONS'];
    // Whatever else V8 is told is the program's own affair, the same without a chart.
    expect(options).toBe(heap && `--max-old-space-size=${heap}`);
  });

  it('the pod is confined', async () => {
    const { securityContext } = only(await render(), 'Deployment')['spec'].template.spec;
    expect(securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
    expect(containerOf(await render()).securityContext).toEqual({
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] },
      readOnlyRootFilesystem: true,
    });
  });

  it.each(['nothing', '--kube-version=1.20', '--kube-version=1.36.0'])(
    'a renderer that knows no cluster, and is told %s, renders it',
    async (version) => {
      const given = version === 'nothing' ? [] : [version];
      const objects = parseAllDocuments(await helmOrThrow(['template', 'shop', CHART, ...given]));
      expect(objects.map((each) => each.get('kind'))).toContain('Deployment');
    },
  );

  it('a cluster that is too old is told so after the installation', async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'attune-chart-'));
    await cp(CHART, folder.path, { recursive: true });
    // No renderer shows the notes of a version of one's choice, so they become a manifest.
    await writeFile(`${folder.path}/templates/told.yaml`, 'told: {{ include "attune.warnings" . | toJson }}\n');
    const told = (version: string) =>
      helmOrThrow(['template', 'shop', folder.path, '--show-only=templates/told.yaml', `--kube-version=${version}`]);
    expect(await told('1.20.15')).toContain('Kubernetes v1.20.15 is older than 1.21');
    expect(await told('1.21.0-gke.1')).not.toContain('is older than');
  });

  it('helm lint has nothing to say', async () => {
    expect((await helm(['lint', CHART, '--strict'])).code).toBe(0);
  });

  it('the plain manifests are those of the chart', async () => {
    await promisify(execFile)(process.execPath, ['scripts/manifests.mjs', '--check'], { cwd: ROOT });
  });

  it('kustomize finds every object of the plain manifests', async () => {
    const { kubectl } = await findBinaries(['kubectl'], { env: environment() }, () => {});
    const { stdout } = await promisify(execFile)(kubectl, ['kustomize', 'deploy'], { cwd: ROOT });
    const files = ['reloaderconfigs-crd.yaml', 'attune.yaml'].map((file) => readFile(`${ROOT}deploy/${file}`, 'utf8'));
    const plain = (await Promise.all(files)).join('---\n');
    const namesIn = (text: string) =>
      parseAllDocuments(text).map((document) => [document.get('kind'), document.getIn(['metadata', 'name'])].join(' '));
    expect(namesIn(stdout).sort()).toEqual(namesIn(plain).sort());
  });
});

it('kubectl attune is attune', async () => {
  const { kubectl } = await findBinaries(['kubectl'], { env: environment() }, () => {});
  const env = { ...environment(), PATH: `${ROOT}:${environment()['PATH']}` };
  const { stdout } = await promisify(execFile)(kubectl, ['attune', 'help'], { env });
  expect(stdout).toContain('usage: attune COMMAND [flags]');
});
