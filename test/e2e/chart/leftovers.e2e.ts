import { expect, it } from 'vitest';
import { controlPlane } from '../../support/sandbox.ts';
import { CHART, containerOf, helmOrThrow, type Manifest, only, refusal, render, type Values } from './helm.ts';
import { STAKATER_DEFAULTS } from './stakater.ts';

/** What users bring along from the other chart, from its older layouts, and from tools that write everything as text. */

const reloader = (values: Values): Values => ({ reloader: values });
const deployment = (values: Values): Values => reloader({ deployment: values });

/** What helm says after the installation. */
const notes = (values: Values): Promise<string> =>
  helmOrThrow(['install', 'shop', CHART, '--dry-run=server', '--kubeconfig', controlPlane().kubeconfig], values);

it('labels by which Prometheus finds a monitor are the user’s', async () => {
  const monitor = { enabled: true, labels: { release: 'kube-prometheus-stack' } };
  const manifests = await render(reloader({ serviceMonitor: monitor, podMonitor: monitor }));
  for (const kind of ['ServiceMonitor', 'PodMonitor']) {
    const { metadata, spec } = only(manifests, kind);
    expect(metadata.labels).toMatchObject({ release: 'kube-prometheus-stack', app: 'shop-attune' });
    expect(spec.selector.matchLabels['release']).toBe('shop');
  }
  expect(only(manifests, 'PodMonitor')['spec']).not.toHaveProperty('jobLabel');
});

it.each<[unknown, unknown]>([
  [{}, { requests: { cpu: '10m', memory: '96Mi' }, limits: { memory: '256Mi' } }],
  [{ limits: { memory: '64Mi' } }, { limits: { memory: '64Mi' } }],
  [{ requests: { memory: '512Mi' } }, { requests: { memory: '512Mi' } }],
  [{ limits: { memory: null, cpu: 1 } }, { limits: { cpu: 1 } }],
])('resources %j are not mixed with ours', async (resources, result) => {
  expect(containerOf(await render(deployment({ resources }))).resources).toEqual(result);
});

it.each<[string, Values, string]>([
  ['a tag of the other image', { image: { tag: 'v1.4.21' } }, 'set image.repository to the place'],
  ['its digest', { image: { digest: `sha256:${'0'.repeat(64)}` } }, 'set image.repository to the place'],
  ['values without our defaults', { attune: null }, '--reset-then-reuse-values'],
  ['a webhook without scheme', reloader({ webhookUrl: 'hook.shop/x' }), 'Begin it with http:// or https://'],
  ['a duration without unit', { attune: { quietPeriod: 5 } }, '/attune/quietPeriod'],
])('%s is refused with the cure', async (_, values, cure) => {
  expect(await refusal(values)).toContain(cure);
});

it('null variables are none, and a variable of the user’s takes the place of ours', async () => {
  const env = {
    open: { A: null, B: 0 },
    secret: { C: null, D: 'd' },
    field: { POD_NAME: 'metadata.uid' },
  };
  const manifests = await render(deployment({ env }));
  expect(only(manifests, 'Secret')['data']).toEqual({ D: btoa('d') });
  const variables = containerOf(manifests).env as readonly { name: string }[];
  const names = variables.map(({ name }) => name);
  expect(names).toEqual([...new Set(names)]);
  expect(names).toEqual(expect.arrayContaining(['B', 'D', 'POD_NAMESPACE']));
  expect(names.filter((name) => name === 'A' || name === 'C')).toEqual([]);
  expect(variables).toContainEqual({ name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.uid' } } });
});

it('numbers and switches may be written as text', async () => {
  const values = {
    logLevel: 'INFO',
    logFormat: 'text',
    service: { port: '8080', ipFamilies: [] },
    serviceMonitor: { enabled: 'true' },
    podMonitor: { enabled: 'false' },
    deployment: { replicas: '2', livenessProbe: { timeoutSeconds: '7' } },
  };
  const manifests = await render(reloader(values));
  expect(containerOf(manifests).livenessProbe.timeoutSeconds).toBe(7);
  expect(containerOf(manifests).args).toContain('--enable-ha=true');
  expect(only(manifests, 'Deployment')['spec'].replicas).toBe(2);
  expect(only(manifests, 'Service')['spec'].ports[0].port).toBe(8080);
  expect(manifests.filter(({ kind }) => /Monitor$/.test(kind)).map(({ kind }) => kind)).toEqual(['ServiceMonitor']);
});

it('the hook before removal has the token that the Deployment has, and follows nameOverride', async () => {
  const token = { volumes: [{ name: 'token' }], volumeMounts: [{ name: 'token', mountPath: '/token' }] };
  const manifests = await render({
    nameOverride: 'reloader',
    ...deployment({ automountServiceAccountToken: false, ...token }),
  });
  const [pod, hook] = ['Deployment', 'Job'].map((kind) => only(manifests, kind)['spec'].template.spec);
  expect(hook).toMatchObject({ automountServiceAccountToken: false, volumes: token.volumes });
  expect(hook.containers[0].volumeMounts).toEqual(pod.containers[0].volumeMounts);
  const names = manifests.map(({ metadata }) => metadata.labels?.['app.kubernetes.io/name']);
  expect(new Set(names)).toEqual(new Set(['reloader']));
  expect(only(manifests, 'Deployment').metadata.labels).toHaveProperty(['app.kubernetes.io/part-of'], 'attune');
});

it('the network policy opens the port of a proxy, and does without a URL that is filled in later', async () => {
  const open = { ALERT_WEBHOOK_URL: '<path:kv/data/alerts#url>', HTTPS_PROXY: 'http://proxy:3128' };
  const values = { netpol: { enabled: true }, webhookUrl: '<path:kv/data/hook#url>', deployment: { env: { open } } };
  const { egress } = only(await render(reloader(values)), 'NetworkPolicy')['spec'];
  expect(egress.at(-1)).toEqual({ ports: [{ port: 3128 }] });
});

it('whoever only posts to a webhook may change no workload', async () => {
  const all = { isArgoRollouts: true, isOpenshift: true };
  const manifests = await render(reloader({ ...all, webhookUrl: 'https://hook/x' }));
  const { rules } = only(manifests, 'ClusterRole');
  const verbs = rules.flatMap((rule: Manifest['rules']) => rule.verbs);
  expect(new Set(verbs)).toEqual(new Set(['get', 'list', 'watch']));
  expect(manifests.filter(({ kind }) => kind === 'Job')).toEqual([]);
});

it('what nothing reads is told after the installation, and what the other chart knows is not', async () => {
  expect(await notes(STAKATER_DEFAULTS)).not.toContain('is not read');
  const values = {
    watchGlobaly: false,
    autoReloadAll: true,
    custom_annotations: { auto: 'our/auto' },
    deployment: { image: { tag: 'v1.0.0' }, resources: { limits: { memory: '64Mi' } } },
  };
  const told = await notes(reloader(values));
  expect(told).toContain('reloader.watchGlobaly is not read');
  expect(told).toContain('reloader.deployment.image is not read: it is image now');
  expect(told).toContain('limits.memory is below 96Mi');
  expect(told).toContain('our/auto=false');
});
