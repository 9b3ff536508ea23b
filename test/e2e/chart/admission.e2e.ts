import { describe, expect, it } from 'vitest';
import { parseSettings } from '../../../src/config/parse-settings.ts';
import { api, controlPlane } from '../../support/sandbox.ts';
import { CHART, containerOf, helmOrThrow, type Manifest, only, refusal, render, type Values } from './helm.ts';

const NAME = 'shop-attune-admission';

/** The values under test, with admission switched on. */
const admission = (values: Values = {}, others: Values = {}): Values => ({
  ...others,
  attune: { admission: { enabled: true, ...values } },
});

const rulesOf = (manifests: readonly Manifest[], kind: string, name: string) =>
  only(manifests, kind, name)['rules'] as readonly { resources: string[]; resourceNames?: string[]; verbs: string[] }[];

function settingsOf(manifests: readonly Manifest[]) {
  const { args, env } = containerOf(manifests);
  const variables = (env as readonly { name: string; value?: string }[]).map(
    ({ name, value = 'x' }) => [name, value] as const,
  );
  const parsed = parseSettings(args, Object.fromEntries(variables));
  if (!parsed.ok) throw new Error(parsed.problems.join());
  return parsed.settings;
}

it('without admission there is nothing of it', async () => {
  const text = JSON.stringify((await render()).map((each) => ({ ...each, metadata: { name: each.metadata.name } })));
  expect(text).not.toMatch(/webhook|admission/i);
});

describe('with admission', () => {
  it('two replicas serve, one leads, and a drain takes one at a time', async () => {
    const manifests = await render(admission());
    const { spec } = only(manifests, 'Deployment');
    expect(spec).toMatchObject({ replicas: 2, strategy: { type: 'RollingUpdate' } });
    expect(settingsOf(manifests)).toMatchObject({ admission: true, enableHa: true });
    expect(only(manifests, 'PodDisruptionBudget')['spec'].maxUnavailable).toBe(1);
    expect(JSON.stringify(rulesOf(manifests, 'Role', 'shop-attune-own'))).toContain('leases');
  });

  it.each<[Values, number]>([
    [{ reloader: { deployment: { replicas: 1 } } }, 1],
    [{ reloader: { deployment: { replicas: 3 } } }, 3],
    [{ replicaCount: 1 }, 1],
  ])('%j: the number is the user’s, and the update leaves no gap', async (values, replicas) => {
    const manifests = await render(admission({}, values));
    expect(only(manifests, 'Deployment')['spec']).toMatchObject({ replicas, strategy: { type: 'RollingUpdate' } });
    expect(manifests.some(({ kind }) => kind === 'PodDisruptionBudget')).toBe(replicas > 1);
  });

  it('a budget may be declined', async () => {
    const manifests = await render(admission({}, { reloader: { podDisruptionBudget: { enabled: false } } }));
    expect(manifests.filter(({ kind }) => kind === 'PodDisruptionBudget')).toEqual([]);
  });

  it.each<[Values, string]>([
    [{}, NAME],
    [{ reloader: { deployment: { env: { open: { ATTUNE_ADMISSION_NAME: 'ours' } } } } }, 'ours'],
    [{ fullnameOverride: 'x'.repeat(63) }, `${'x'.repeat(48)}-admission`],
  ])('%j: program, Service and rights go by one name', async (values, name) => {
    const manifests = await render(admission({}, values));
    expect(settingsOf(manifests).admissionServer.name).toBe(name);
    const { spec, metadata } = only(manifests, 'Service', name);
    expect(metadata.namespace).toBe('tools');
    expect(spec.ports).toEqual([{ name: 'admission', port: 443, targetPort: 'admission' }]);
    expect(spec.selector).toEqual(only(manifests, 'Deployment')['spec'].selector.matchLabels);
    expect(rulesOf(manifests, 'ClusterRole', name)).toEqual([
      {
        apiGroups: ['admissionregistration.k8s.io'],
        resources: ['mutatingwebhookconfigurations'],
        resourceNames: [name],
        verbs: ['get', 'patch'],
      },
    ]);
    const own = manifests.find(({ kind, metadata: { name: role } }) => kind === 'Role' && role.endsWith('-own'));
    expect(own?.['rules']).toContainEqual({
      apiGroups: [''],
      resources: ['secrets'],
      resourceNames: [`${name}-cert`],
      verbs: ['get', 'update'],
    });
  });

  it('with Roles alone the one right on its registration is all that it has in the cluster', async () => {
    const manifests = await render(admission({}, { reloader: { watchGlobally: false } }));
    const roles = manifests.filter(({ kind }) => kind === 'ClusterRole').map(({ metadata }) => metadata.name);
    expect(roles).toEqual([NAME]);
  });

  it('a pod is ready when admission is served, and has time to drain', async () => {
    const manifests = await render(admission());
    const container = containerOf(manifests);
    expect(container.readinessProbe.httpGet).toEqual({ path: '/readyz', port: 'admission', scheme: 'HTTPS' });
    expect(container.livenessProbe.httpGet).toEqual({ path: '/live', port: 'http' });
    expect(container.ports).toContainEqual({ name: 'admission', containerPort: 9443 });
    expect(settingsOf(manifests).admissionServer.listen.port).toBe(9443);
    expect(only(manifests, 'Deployment').metadata.labels).toHaveProperty(['attune.dev/admission'], 'exempt');
  });

  it.each([undefined, null, '0', 0, '500ms', '45s', '1m30s'])('drain %s: killed 15 s after it', async (drain) => {
    const manifests = await render(admission({ drain }));
    const grace = only(manifests, 'Deployment')['spec'].template.spec.terminationGracePeriodSeconds;
    expect(grace).toBe(15 + Math.ceil(settingsOf(manifests).admissionServer.drainMs / 1000));
  });

  it('the values are the flags', async () => {
    const given = await render(admission({ failurePolicy: 'Fail', marks: false, certLife: '720h' }));
    const expected = { failurePolicy: 'Fail', marks: false, certLifeMs: 720 * 3_600_000, certDir: '' };
    expect(settingsOf(given).admissionServer).toMatchObject(expected);
    const usual = { failurePolicy: 'Ignore', marks: true, certLifeMs: 8760 * 3_600_000 };
    expect(settingsOf(await render(admission())).admissionServer).toMatchObject(usual);
  });

  it('the network policy lets the API server in', async () => {
    const values = { reloader: { netpol: { enabled: true, from: [{ podSelector: {} }] } } };
    const { ingress } = only(await render(admission({}, values)), 'NetworkPolicy')['spec'];
    expect(ingress).toContainEqual({ ports: [{ port: 'admission' }] });
  });

  it('who may reach the port can be said, with and without the network policy of the other ports', async () => {
    const from = [
      { ipBlock: { cidr: '10.0.0.0/28' } },
      { podSelector: { matchLabels: { app: 'konnectivity-agent' } } },
    ];
    const scrapers = [{ podSelector: {} }];
    const specOf = async (netpol: Values) =>
      only(await render(admission({ from }, { reloader: { netpol } })), 'NetworkPolicy')['spec'];
    const admits = { ports: [{ port: 'admission' }], from };
    const alone = await specOf({ from: scrapers });
    expect(alone).toMatchObject({ policyTypes: ['Ingress'], ingress: [{ ports: [{ port: 'http' }] }, admits] });
    expect([alone.egress, alone.ingress[0].from]).toEqual([undefined, undefined]);
    const both = await specOf({ enabled: true, from: scrapers });
    expect(both.policyTypes).toEqual(['Ingress', 'Egress']);
    expect(both.ingress).toEqual([{ ports: [{ port: 'http' }], from: scrapers }, admits]);
    const kinds = async (values: Values) => (await render(values)).map(({ kind }) => kind);
    expect(await kinds(admission())).not.toContain('NetworkPolicy');
    expect(await kinds(admission({ enabled: false, from }))).not.toContain('NetworkPolicy');
  });

  it('a certificate of cert-manager is mounted, without its CA, and no right on Secrets is needed', async () => {
    const certManager = { enabled: true, issuerRef: { name: 'ca', kind: 'ClusterIssuer' } };
    const volumes = [{ name: 'theirs', emptyDir: {} }];
    const manifests = await render(admission({ certManager }, { reloader: { deployment: { volumes } } }));
    const { secretName, issuerRef, dnsNames } = only(manifests, 'Certificate', NAME)['spec'];
    expect(issuerRef).toEqual({ name: 'ca', kind: 'ClusterIssuer' });
    expect(dnsNames).toContain(`${NAME}.tools.svc`);
    expect(only(manifests, 'MutatingWebhookConfiguration').metadata.annotations).toEqual({
      'cert-manager.io/inject-ca-from': `tools/${NAME}`,
    });
    const pod = only(manifests, 'Deployment')['spec'].template.spec;
    const { certDir } = settingsOf(manifests).admissionServer;
    const { name } = pod.containers[0].volumeMounts.find((each: { mountPath: string }) => each.mountPath === certDir);
    const volume = pod.volumes.find((each: { name: string }) => each.name === name);
    expect(volume.secret.secretName).toBe(secretName);
    expect(volume.secret.items.map((each: { key: string }) => each.key)).toEqual(['tls.crt', 'tls.key']);
    expect(pod.volumes).toContainEqual(volumes[0]);
    expect(JSON.stringify(rulesOf(manifests, 'Role', 'shop-attune-own'))).not.toContain(`${NAME}-cert`);
  });

  it.each<[string, Values, string]>([
    ['a caller that is no peer', admission({ from: ['10.0.0.1'] }), '/attune/admission/from/0'],
    ['cert-manager without an issuer', admission({ certManager: { enabled: true } }), 'needs issuerRef.name'],
    ['a webhook instead of rollouts', admission({}, { reloader: { webhookUrl: 'http://hook' } }), 'Remove one of them'],
    [
      'a selector that a registration cannot express',
      admission({}, { reloader: { namespaceSelector: 'size>3' } }),
      'Give these namespaces a label',
    ],
    ['another policy', admission({ failurePolicy: 'Refuse' }), '/attune/admission/failurePolicy'],
    ['a misspelt value', admission({ failPolicy: 'Fail' }), 'failPolicy'],
  ])('%s is refused', async (_, values, why) => {
    expect(await refusal(values)).toContain(why);
  });

  it.each<[string, Values]>([
    [
      'all kinds',
      admission({}, { reloader: { isArgoRollouts: true, namespaceSelector: 'tier in (web,api),!legacy' } }),
    ],
    ['one namespace and no CronJobs', admission({}, { reloader: { watchGlobally: false, ignoreCronJobs: true } })],
    ['only SAP’s annotations', admission({ marks: false, failurePolicy: 'Fail' })],
  ])('%s: the API server accepts the registration, which trusts nobody yet and refuses nothing', async (_, values) => {
    const registration = only(await render(values), 'MutatingWebhookConfiguration', NAME);
    const path = '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations?dryRun=All';
    const { webhooks } = (await api().create(path, registration)) as unknown as Manifest;
    for (const webhook of webhooks) {
      expect(webhook).toMatchObject({ failurePolicy: 'Ignore', sideEffects: 'None', reinvocationPolicy: 'IfNeeded' });
      expect(webhook.clientConfig).toEqual({
        service: { name: NAME, namespace: 'tools', path: '/mutate', port: 443 },
      });
    }
  });

  it('one replica alone is told after the installation, and two are not', async () => {
    const notes = (values: Values) =>
      helmOrThrow(['install', 'shop', CHART, '--dry-run=server', '--kubeconfig', controlPlane().kubeconfig], values);
    const one = await notes(admission({ failurePolicy: 'Fail' }, { replicaCount: 1 }));
    expect(one).toContain('attune.admission with one replica');
    expect(one).toContain('writes to concerned workloads are refused');
    const two = await notes(admission());
    expect(two).not.toContain('PLEASE CHECK');
    expect(two).toContain('attune admission status');
  });
});
