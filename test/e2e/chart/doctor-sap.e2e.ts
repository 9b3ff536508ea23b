import { expect, it } from 'vitest';
import { api, ownControlPlane } from '../../support/sandbox.ts';
import { commandLine } from '../cli/run.ts';

const SAP = 'pod-reloader.cs.sap.com';

function deployment(name: string, image: string, annotations: object = {}, labels: object = {}) {
  return {
    metadata: { name, annotations, labels },
    spec: {
      replicas: 0,
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'main', image }] } },
    },
  };
}

/** As SAP's chart registers it. No endpoint stands behind it, so this one lets everything pass. */
const registration = {
  metadata: { name: 'pod-reloader' },
  webhooks: [
    {
      name: 'mutate.apps.k8s.io',
      admissionReviewVersions: ['v1'],
      clientConfig: { service: { name: 'pod-reloader', namespace: 'default', path: '/mutate' } },
      failurePolicy: 'Ignore',
      sideEffects: 'None',
      timeoutSeconds: 1,
      rules: [
        { apiGroups: ['apps'], apiVersions: ['v1'], operations: ['CREATE', 'UPDATE'], resources: ['deployments'] },
      ],
      objectSelector: { matchExpressions: [{ key: `${SAP}/ignored`, operator: 'NotIn', values: ['true'] }] },
      namespaceSelector: { matchExpressions: [{ key: 'reload', operator: 'NotIn', values: ['never'] }] },
    },
  ],
};

it('reads SAP’s program, its registration and its workloads as a real API server has them', async () => {
  // Its own: a registration holds for a whole cluster.
  const { plane } = await ownControlPlane();
  const admin = api(plane);
  const attune = commandLine(plane);
  for (const [name, labels] of [
    ['open', {}],
    ['closed', { reload: 'never' }],
  ] as const) {
    await admin.create('/api/v1/namespaces', { metadata: { name, labels } });
  }
  const at = (namespace: string) => `/apis/apps/v1/namespaces/${namespace}/deployments`;
  const lists = { [`${SAP}/configmaps`]: 'app', [`${SAP}/secrets`]: 'db' };
  await admin.create(at('open'), deployment('pod-reloader', 'ghcr.io/sap/pod-reloader:v0.1.98'));
  await admin.create(at('open'), deployment('same', 'shop', lists));
  await admin.create(at('open'), deployment('blank', 'shop', { [`${SAP}/secrets`]: 'db, tls' }));
  await admin.create(at('open'), deployment('ignored', 'shop', lists, { [`${SAP}/ignored`]: 'true' }));
  await admin.create(at('closed'), deployment('token', 'shop', { ...lists, [`${SAP}/config-hash`]: 'old' }));
  await admin.create('/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations', registration);

  const { code, stdout, stderr } = await attune('doctor');
  expect(stderr).toBe('');
  expect(stdout).toContain('Deployment open/pod-reloader, ghcr.io/sap/pod-reloader:v0.1.98, scaled to 0');
  expect(stdout).toMatch(/= +Deployment open\/same +as before, 2 sources/);
  expect(stdout).toMatch(/≠ +Deployment open\/blank +Secret tls is listed with a blank/);
  expect(stdout).toMatch(/= +Deployment open\/ignored/);
  expect(stdout).toMatch(/≠ +Deployment closed\/token +SAP's program never rolls it/);
  expect(stdout).toContain('2 of 4 workloads would be treated differently.');
  expect(code).toBe(1);

  const { stdout: json } = await attune('doctor', '-o', 'json', '-n', 'open');
  const [report] = JSON.parse(json) as { diagnoses: { workload: { name: string } }[] }[];
  expect(report?.diagnoses.map(({ workload }) => workload.name).sort()).toEqual(['blank', 'ignored', 'same']);
});
