import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { registrationManifest } from '../../../src/admission/registration/manifest.ts';
import { installKinds } from '../../support/crds.ts';
import { api, namespace } from '../../support/sandbox.ts';
import { settings } from '../../support/settings.ts';
import { until } from '../../support/wait.ts';
import { receiver } from './receiver.ts';

const REGISTRATIONS = '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations';
const SAP = { 'pod-reloader.cs.sap.com/secrets': 'db' };
const OFF = { 'pod-reloader.cs.sap.com/ignored': 'true' };
const MARK = { name: 'STAKATER_APP_CONFIGMAP', value: 'da39a3ee5e6b4b0d3255bfef95601890afd80709' };

const admin = api();
let ns: string;
let endpoint: Awaited<ReturnType<typeof receiver>>;
let calls: string[];
beforeAll(async () => {
  await installKinds(['Rollout', 'DeploymentConfig']);
  ns = await namespace('match');
  endpoint = await receiver();
  calls = endpoint.calls;
  afterAll(() => admin.delete(`${REGISTRATIONS}/${ns}`));
  await register();
});

let registered = 0;
/** Registers the endpoint by these flags, under Fail: an error in a condition is a write that is refused. */
async function register(...flags: readonly string[]): Promise<void> {
  registered += 1;
  const path = `/${registered}`;
  const { admissionServer, ...rules } = settings([`--namespaces=${ns}`, '--is-Argo-Rollouts=true', ...flags]);
  const target = { name: ns, namespace: ns, url: endpoint.url + path };
  const manifest = registrationManifest(target, { ...rules, marks: admissionServer.marks });
  const caBundle = Buffer.from(endpoint.bundle).toString('base64');
  const webhooks = (manifest['webhooks'] as readonly { readonly clientConfig: object }[]).map((each) => ({
    ...each,
    failurePolicy: 'Fail',
    // For objects of some megabytes, on a busy machine: who is late is refused here.
    timeoutSeconds: 20,
    clientConfig: { ...each.clientConfig, caBundle },
  }));
  await admin.patch(`${REGISTRATIONS}/${ns}?fieldManager=test`, { ...manifest, webhooks }, 'apply');
  // The server acts by its own copy of the registration, which is a moment behind.
  const canary = object('Deployment', 'canary', { metadata: { annotations: SAP } });
  const isHeardOf = async () => {
    await admin.create(`${pathOf('Deployment')}?dryRun=All`, canary);
    return endpoint.lastPath() === path;
  };
  await until(isHeardOf, { what: 'the registration being heard of' });
}

const PATHS = {
  Deployment: (space: string) => `/apis/apps/v1/namespaces/${space}/deployments`,
  CronJob: (space: string) => `/apis/batch/v1/namespaces/${space}/cronjobs`,
  Rollout: (space: string) => `/apis/argoproj.io/v1alpha1/namespaces/${space}/rollouts`,
  DeploymentConfig: (space: string) => `/apis/apps.openshift.io/v1/namespaces/${space}/deploymentconfigs`,
};
type Kind = keyof typeof PATHS;
const pathOf = (kind: Kind): string => PATHS[kind](ns);
const VERSIONS: Readonly<Record<Kind, string>> = {
  Deployment: 'apps/v1',
  CronJob: 'batch/v1',
  Rollout: 'argoproj.io/v1alpha1',
  DeploymentConfig: 'apps.openshift.io/v1',
};

interface Parts {
  readonly metadata?: object;
  readonly template?: object;
  readonly env?: readonly object[];
  readonly spec?: object;
}

function object(kind: Kind, name: string, { metadata = {}, template = {}, env, spec }: Parts = {}) {
  const app = { app: name };
  const containers = [{ name: 'main', image: 'app', ...(env && { env }) }];
  const pods = { metadata: { labels: app, ...template }, spec: { containers, restartPolicy: restart(kind) } };
  const own =
    kind === 'CronJob'
      ? { schedule: '0 0 1 1 *', jobTemplate: { spec: { template: pods } } }
      : { replicas: 0, selector: { matchLabels: app }, template: pods };
  return { apiVersion: VERSIONS[kind], kind, metadata: { name, ...metadata }, spec: spec ?? own };
}
const restart = (kind: Kind): string => (kind === 'CronJob' ? 'Never' : 'Always');

let count = 0;
/** Creates an object and edits its labels; gives the calls that this made. The server must take both. */
async function callsFor(kind: Kind, parts: Parts, edit: object = { touched: 'yes' }): Promise<readonly string[]> {
  count += 1;
  const name = `w${count}`;
  calls.length = 0;
  await admin.create(pathOf(kind), object(kind, name, parts));
  const created = [...calls];
  calls.length = 0;
  await admin.patch(`${pathOf(kind)}/${name}`, { metadata: { labels: edit } });
  const mine = (list: readonly string[]) => list.filter((call) => call.endsWith(` ${name}`));
  // A write that lost a race comes again.
  const verbs = [...mine(created), ...mine(calls)].map((call) => call.split(' ')[0] ?? '');
  return [...new Set(verbs)];
}

const ALL: readonly Kind[] = ['Deployment', 'CronJob', 'Rollout', 'DeploymentConfig'];

describe.each(ALL)('a %s', (kind) => {
  test.each<[string, Parts, readonly string[]]>([
    ['of others costs no call', {}, []],
    ['with a variable of others costs no call', { env: [{ name: 'STAKATE', value: 'r' }, { name: 'B' }] }, []],
    [
      'with annotations of others costs no call',
      { metadata: { annotations: { a: 'b' } }, template: { annotations: { a: 'b' } } },
      [],
    ],
    ['with SAP lists is always seen', { metadata: { annotations: SAP } }, ['CREATE', 'UPDATE']],
    ['with SAP lists and a label that switches them off is not', { metadata: { annotations: SAP, labels: OFF } }, []],
    [
      'with a record is seen when it is updated',
      { metadata: { annotations: { 'attune.dev/record': '{}' } } },
      ['UPDATE'],
    ],
    [
      'with the annotation of a reload is seen when it is updated',
      { template: { annotations: { 'reloader.stakater.com/last-reloaded-from': '{}' } } },
      ['UPDATE'],
    ],
    ['with a nudge is seen when it is updated', { template: { annotations: { 'attune.dev/nudge': '1' } } }, ['UPDATE']],
    ['with a mark is seen when it is updated', { env: [{ name: 'A', value: 'b' }, MARK] }, ['UPDATE']],
    [
      'with a mark is seen although SAP is switched off',
      { env: [MARK], metadata: { annotations: SAP, labels: OFF } },
      ['UPDATE'],
    ],
    [
      'that is exempt is not seen',
      { env: [MARK], metadata: { annotations: SAP, labels: { 'attune.dev/admission': 'exempt' } } },
      [],
    ],
  ])('%s', async (_, parts, expected) => {
    expect(await callsFor(kind, parts)).toEqual(expected);
  });
});

test('the request that switches SAP off is seen for the last time, and the one that switches it on again', async () => {
  expect(await callsFor('Deployment', { metadata: { annotations: SAP } }, OFF)).toEqual(['CREATE', 'UPDATE']);
  expect(await callsFor('Deployment', { metadata: { annotations: SAP, labels: OFF } }, { ...OFF, x: 'y' })).toEqual([]);
  const on = { 'pod-reloader.cs.sap.com/ignored': 'false' };
  expect(await callsFor('Deployment', { metadata: { annotations: SAP, labels: OFF } }, on)).toEqual(['UPDATE']);
});

test('in a namespace that is not watched, and of a status, nothing is seen', async () => {
  calls.length = 0;
  const other = PATHS.Deployment('default');
  await admin.create(`${other}?dryRun=All`, object('Deployment', 'elsewhere', { metadata: { annotations: SAP } }));
  await admin.create(pathOf('Deployment'), object('Deployment', 'scaled', { env: [MARK] }));
  await admin.patch(`${pathOf('Deployment')}/scaled/scale`, { spec: { replicas: 1 } });
  await admin.patch(`${pathOf('Deployment')}/scaled/status`, { metadata: { annotations: { a: 'b' } } });
  expect(calls).toEqual([]);
});

describe('an odd object gives no error', () => {
  test.each<[string, Kind, object]>([
    [
      'a Rollout that borrows a template',
      'Rollout',
      { workloadRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'x' } },
    ],
    ['annotations that are a text', 'DeploymentConfig', { template: { metadata: { annotations: 'odd' } } }],
    ['an empty spec', 'DeploymentConfig', {}],
    ['a template that is null', 'DeploymentConfig', { template: null }],
    ['a template that is a number', 'DeploymentConfig', { template: 5 }],
    ['metadata that are a list', 'DeploymentConfig', { template: { metadata: ['odd'], spec: {} } }],
    ['containers that are a map', 'DeploymentConfig', { template: { metadata: {}, spec: { containers: { a: 'b' } } } }],
    ['containers that are texts', 'DeploymentConfig', { template: { spec: { containers: ['odd', 5, null] } } }],
    ['env that is a text', 'DeploymentConfig', { template: { spec: { containers: [{ env: 'odd' }, {}] } } }],
    [
      'variables without a name',
      'DeploymentConfig',
      { template: { spec: { containers: [{ env: [{}, 5, { name: 7 }] }] } } },
    ],
  ])('%s', async (_, kind, spec) => {
    expect(await callsFor(kind, { spec })).toEqual([]);
  });

  const many = (containers: number, variables: number): object => {
    const env = Array.from({ length: variables }, () => ({ name: 'A' }));
    const all = Array.from({ length: containers }, (_, at) => ({ name: `c${at}`, image: 'app', env }));
    const app = { app: 'many' };
    return {
      replicas: 0,
      selector: { matchLabels: app },
      template: { metadata: { labels: app }, spec: { containers: all } },
    };
  };

  test.each<[number, number, readonly string[]]>([
    [1000, 1, []],
    [1000, 30, []],
    [30, 1000, []],
    // More than a condition may look at: the write comes to us, and is not refused.
    [1000, 60, ['UPDATE']],
    [1001, 1, ['UPDATE']],
  ])('%d containers with %d variables each', async (containers, variables, expected) => {
    expect(await callsFor('Deployment', { spec: many(containers, variables) })).toEqual(expected);
  });
});

test('as SAP, its labels keep a workload from admission, whatever it carries', async () => {
  await register('--compat=sap');
  const labelled = { annotations: SAP, labels: OFF };
  expect(await callsFor('Deployment', { env: [MARK], metadata: labelled })).toEqual([]);
  expect(await callsFor('Deployment', { env: [MARK] })).toEqual(['UPDATE']);
  expect(await callsFor('Deployment', { metadata: { annotations: SAP } })).toEqual(['CREATE', 'UPDATE']);
});
