import { expect, it } from 'vitest';
import { controlPlane } from '../../support/sandbox.ts';
import { CHART, containerOf, helmOrThrow, only, refusal, render, type Values } from './helm.ts';
import { SAP_DEFAULTS } from './sap.ts';

/** Values of SAP pod-reloader's chart: those that mean the same are taken, the others refused with the name to use. */

const podOf = async (values: Values) => only(await render(values), 'Deployment')['spec'].template;

it('fit as they are, once the image is left out', async () => {
  const manifests = await render(SAP_DEFAULTS);
  expect(only(manifests, 'Deployment')['spec'].replicas).toBe(1);
  expect(containerOf(manifests).resources).toEqual(SAP_DEFAULTS['resources']);
  expect(manifests.filter(({ kind }) => kind === 'PodDisruptionBudget')).toEqual([]);
  const { securityContext } = only(manifests, 'Deployment')['spec'].template.spec;
  expect(securityContext).toMatchObject({ runAsNonRoot: true });
  const notes = ['install', 'shop', CHART, '--dry-run=server', '--kubeconfig', controlPlane().kubeconfig];
  expect(await helmOrThrow(notes, SAP_DEFAULTS)).not.toContain('is not read');
});

it.each<[Values, object]>([
  [{ nodeSelector: { disk: 'ssd' } }, { spec: { nodeSelector: { disk: 'ssd' } } }],
  [{ affinity: { nodeAffinity: {} } }, { spec: { affinity: { nodeAffinity: {} } } }],
  [{ tolerations: [{ operator: 'Exists' }] }, { spec: { tolerations: [{ operator: 'Exists' }] } }],
  [
    { topologySpreadConstraints: [{ topologyKey: 'zone' }] },
    { spec: { topologySpreadConstraints: [{ topologyKey: 'zone' }] } },
  ],
  [{ priorityClassName: 'high' }, { spec: { priorityClassName: 'high' } }],
  [{ podSecurityContext: { fsGroup: 7 } }, { spec: { securityContext: { fsGroup: 7, runAsNonRoot: true } } }],
  [{ securityContext: { privileged: false } }, { spec: { containers: [{ securityContext: { privileged: false } }] } }],
  [{ podAnnotations: { a: 'b' } }, { metadata: { annotations: { a: 'b' } } }],
  [{ podLabels: { team: 'a' } }, { metadata: { labels: { team: 'a', app: 'shop-attune' } } }],
  [{ dnsPolicy: 'Default' }, { spec: { dnsPolicy: 'Default' } }],
  [{ hostNetwork: true }, { spec: { hostNetwork: true } }],
  [{ imagePullSecrets: [{ name: 'pull' }] }, { spec: { imagePullSecrets: [{ name: 'pull' }] } }],
])('%j is taken', async (values, pod) => {
  expect(await podOf(values)).toMatchObject(pod);
});

it('several replicas come with an election, and with the budget that they had', async () => {
  const pdb = { enabled: true, minAvailable: '1', labels: { team: 'a' }, annotations: { why: 'not' } };
  const manifests = await render({ replicaCount: 2, pdb });
  expect(only(manifests, 'Deployment')['spec'].replicas).toBe(2);
  expect(containerOf(manifests).args).toContain('--enable-ha=true');
  const { metadata, spec } = only(manifests, 'PodDisruptionBudget');
  expect(spec).toMatchObject({ minAvailable: 1 });
  expect(metadata).toMatchObject({ labels: { team: 'a', app: 'shop-attune' }, annotations: { why: 'not' } });
  const other = only(await render({ replicaCount: 2, pdb: { ...pdb, maxUnavailable: 1 } }), 'PodDisruptionBudget');
  expect(other['spec']).toMatchObject({ maxUnavailable: 1 });
  expect(only(await render({ replicaCount: 0 }), 'Deployment')['spec'].replicas).toBe(0);
});

it('what means nothing here is refused all at once, each with the value to use', async () => {
  const told = await refusal({
    webhook: {
      matchConditions: [{ name: 'x', expression: 'true' }],
      certManager: { enabled: true, issuerName: 'ca' },
      objectSelector: { matchLabels: { a: 'b' } },
      namespaceSelector: { matchExpressions: [{ key: 'tier', operator: 'Exists' }] },
      port: 9443,
    },
    defaultZoneSpreadPolicy: 'DoNotSchedule',
  });
  for (const cure of [
    'webhook.namespaceSelector: write the same as text into reloader.namespaceSelector',
    'webhook.objectSelector: there is none here. Label the workloads',
    'webhook.matchConditions: they are generated here',
    'webhook.certManager: it is attune.admission.certManager',
    'webhook.port: it is not known here',
    'defaultZoneSpreadPolicy: write the constraint into reloader.deployment.topologySpreadConstraints',
  ]) {
    expect(told).toContain(cure);
  }
});

it.each<[Values, string]>([
  [{ repository: 'ghcr.io/sap/pod-reloader' }, 'still names sap/pod-reloader, which is another program'],
  [{ tag: 'v0.1.98' }, 'left over from another program’s image'],
])('the image %j is refused', async (image, why) => {
  expect(await refusal({ image })).toContain(why.replace('’', "'"));
});

it('a misspelt value at the top is told after the installation', async () => {
  const args = ['install', 'shop', CHART, '--dry-run=server', '--kubeconfig', controlPlane().kubeconfig];
  expect(await helmOrThrow(args, { nodeSelektor: { disk: 'ssd' } })).toContain('nodeSelektor is not read');
});
