import { createHash } from 'node:crypto';
import { afterAll, expect, it } from 'vitest';
import { commandLine } from '../../../test/e2e/cli/run.ts';
import { listOf, scriptedApi } from '../../../test/support/scripted-api.ts';
import { CONFIG_HASH, SAP_DISABLING_LABELS, SAP_LISTS } from '../../api/annotations.ts';
import { KEY_SECRET, type LedgerKey, withKey } from '../../model/ledger/ledger-key.ts';

interface Scene {
  readonly hash?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** The key of the ledger, which this user may read. */
  readonly key?: Uint8Array;
}

const NOON = '2030-01-31T12:00:00Z';
const STATUS = { observedGeneration: 1, replicas: 1, updatedReplicas: 1, availableReplicas: 1 };
/** Of the one ConfigMap that exists and the Secret that does not, as SAP's program computes it. */
const VERSIONS = createHash('sha256').update('configmap/shop/app/app.1\nsecret/shop/db/\n').digest('hex');

const linesBy = ({ digest }: LedgerKey): string => {
  const { exact } = digest.fingerprint({ kind: 'ConfigMap', namespace: 'shop', name: 'app' }, [
    { part: 'data', key: 'a', value: '1' },
  ]);
  return `configmap/shop/app/${exact}\nsecret/shop/db/\n`;
};

let scene: Scene = {};

const object = (name: string, metadata: object, rest: object = {}) => ({
  metadata: { namespace: 'shop', name, uid: name, resourceVersion: '1', generation: 1, ...metadata },
  ...rest,
});

function answer(path: string): readonly object[] | object | undefined {
  const { hash, labels, key } = scene;
  const annotations = { [SAP_LISTS.ConfigMap]: 'app', [SAP_LISTS.Secret]: 'db' };
  const managedFields = [{ time: NOON, fieldsV1: { 'f:data': {} } }];
  const app = object('app', { managedFields, creationTimestamp: NOON }, { data: { a: '1' } });
  const template = {
    metadata: { annotations: hash === undefined ? {} : { [CONFIG_HASH]: hash } },
    spec: { containers: [{ name: 'main' }] },
  };
  const web = object('web', { annotations, labels }, { spec: { template }, status: STATUS });
  const answers: Readonly<Record<string, readonly object[] | object>> = {
    '/api/v1/namespaces/shop/configmaps': [app],
    '/api/v1/namespaces/shop/configmaps/app': app,
    '/api/v1/namespaces/shop/secrets': [],
    '/apis/apps/v1/deployments': [],
    '/apis/apps/v1/namespaces/shop/deployments': [web],
    '/apis/apps/v1/namespaces/shop/deployments/web': web,
  };
  const secret = { metadata: { namespace: 'attune', name: KEY_SECRET, uid: 'k', resourceVersion: '1' } };
  const ledger: typeof answers = {
    '/api/v1/secrets': [secret],
    [`/api/v1/namespaces/attune/secrets/${KEY_SECRET}`]: {
      ...secret,
      data: { key: Buffer.from(key ?? []).toString('base64') },
    },
  };
  return answers[path] ?? (key && ledger[path]);
}

const api = await scriptedApi(({ path, json, status }) => {
  const found = answer(path);
  if (found === undefined) status(403, 'Forbidden');
  else json(200, Array.isArray(found) ? listOf(found, '1') : found);
});
afterAll(() => api[Symbol.asyncDispose]());
const attune = commandLine({ server: api.connection.server.origin, authority: '', token: 'test' });

async function said(...flags: readonly string[]) {
  const { stdout } = await attune('explain', 'deploy/web', '-n', 'shop', '-o', 'json', ...flags);
  const text = (await attune('explain', 'deploy/web', '-n', 'shop', ...flags)).stdout.replaceAll(/\s+/g, ' ');
  return { sources: JSON.parse(stdout).sources, mode: JSON.parse(stdout).mode, text };
}

it('names the annotation, the hash, and that coming and going counts', async () => {
  scene = { hash: VERSIONS };
  const { sources, text } = await said();
  expect(sources).toMatchObject([
    { rolls: true, because: 'named', mark: { place: CONFIG_HASH, found: 'current' }, ifCreated: { rolls: true } },
    { rolls: true, because: 'named', presence: 'absent', ifDeleted: { rolls: true } },
  ]);
  expect(text).toContain(`because ${SAP_LISTS.ConfigMap}: "app" in metadata names it`);
  expect(text).toContain(`mark ${CONFIG_HASH} in the pod template is there, of the current data`);
  expect(text).not.toContain('STAKATER');
  expect(text).toContain('it is created: the same (what SAP pod-reloader lists counts when it comes and when it goes)');
});

it('as SAP, another hash waits to be rolled; in the default mode it says nothing', async () => {
  scene = { hash: 'another' };
  const sap = await said('--compat=sap');
  expect(sap.mode).toBe('sap');
  expect(sap.text).toContain('(compatible with SAP pod-reloader)');
  expect(sap.sources).toMatchObject([{ mark: { value: VERSIONS, found: 'other' }, state: { is: 'pending' } }, {}]);
  const { sources } = await said();
  expect(sources[0].state.is).not.toBe('pending');
});

it.each([
  ['ours, of the data as it is', 'current', (key: LedgerKey) => key.digest.configHash(linesBy(key))],
  ['ours, of other data', 'other', (key: LedgerKey) => key.digest.configHash('configmap/shop/app/\nsecret/shop/db/\n')],
  ['by an earlier version', 'unknown', (key: LedgerKey) => createHash('sha256').update(linesBy(key)).digest('hex')],
  [
    'by another key',
    'unknown',
    (key: LedgerKey) => withKey(Buffer.alloc(32, 2), false).digest.configHash(linesBy(key)),
  ],
] as const)('who may read the key is told of a hash %s: %s', async (_, found, hashBy) => {
  const key = Buffer.alloc(32, 1);
  const ledgerKey = withKey(key, false);
  scene = { key, hash: hashBy(ledgerKey) };
  const { sources } = await said();
  expect(sources).toMatchObject([{ mark: { value: ledgerKey.digest.configHash(linesBy(ledgerKey)), found } }, {}]);
});

it('a label is named, and so is the cure', async () => {
  const [label] = SAP_DISABLING_LABELS;
  scene = { hash: VERSIONS, labels: { [label]: 'true' } };
  const { sources, text } = await said();
  expect(sources).toMatchObject([{ rolls: false, because: 'disabled-by-label' }, { because: 'disabled-by-label' }]);
  expect(text).toContain(`label ${label}: "true" switches ${SAP_LISTS.ConfigMap}: "app" in metadata off`);
  expect(text).toContain(`to roll remove label ${label} from Deployment web`);
});

it('one source alone is told of the same hash', async () => {
  scene = { hash: VERSIONS };
  const { sources } = await said('--compat=sap', '--source', 'secret/db');
  expect(sources).toMatchObject([{ mark: { value: VERSIONS, found: 'current' } }]);
});

it('impact counts who lists it, and says by which annotation', async () => {
  scene = {};
  const { stdout } = await attune('impact', 'configmap/app', '-n', 'shop', '-o', 'json');
  expect(JSON.parse(stdout).workloads).toMatchObject([
    {
      workload: { name: 'web' },
      rolls: true,
      because: 'named',
      ifCreated: { rolls: true },
      ifDeleted: { rolls: true },
    },
  ]);
  const text = (await attune('impact', 'configmap/app', '-n', 'shop')).stdout;
  expect(text).toContain(SAP_LISTS.ConfigMap);
});
