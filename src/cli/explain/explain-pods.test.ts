import { afterAll, expect, it } from 'vitest';
import { commandLine } from '../../../test/e2e/cli/run.ts';
import { listOf, scriptedApi } from '../../../test/support/scripted-api.ts';
import { sha1 } from '../../../test/support/workloads.ts';
import { MAX_WAIT, QUIET_PERIOD } from '../../api/annotations.ts';

/** Moments that a real server does not make on demand. */
interface Scene {
  readonly status?: object;
  readonly spec?: object;
  readonly mark?: string;
  /** When the data was written; null: nobody keeps it. */
  readonly written?: string | null;
  /** When pods got their nodes; null: not yet. Undefined: they may not be listed. */
  readonly pods?: readonly (string | null)[];
  readonly annotations?: Readonly<Record<string, string>>;
  /** What an Event on the workload says. */
  readonly said?: string;
}

const DATA = { a: '1' };
const NOON = '2030-01-31T12:00:00Z';
const BEFORE = '2030-01-31T11:59:59Z';
const AFTER = '2030-01-31T12:00:01Z';
const DONE = { observedGeneration: 1, replicas: 1, updatedReplicas: 1, availableReplicas: 1 };

const object = (name: string, metadata: object, rest: object = {}) => ({
  metadata: { namespace: 'shop', name, uid: name, resourceVersion: '1', generation: 1, ...metadata },
  ...rest,
});
const ownedBy = (uid: string) => ({ ownerReferences: [{ uid, controller: true }], creationTimestamp: BEFORE });

let scene: Scene = {};

function answer(path: string): readonly object[] | object | undefined {
  const { status = DONE, spec = {}, mark, written = NOON, pods, annotations: more, said } = scene;
  const env = mark === undefined ? [] : [{ name: 'STAKATER_APP_CONFIGMAP', value: mark }];
  const containers = [{ name: 'main', env, envFrom: [{ configMapRef: { name: 'app' } }] }];
  const selector = { matchLabels: { app: 'web' } };
  const annotations = { 'reloader.stakater.com/auto': 'true', ...more };
  const labelled = { time: AFTER, fieldsV1: { 'f:metadata': {} } };
  const managedFields = written === null ? [] : [labelled, { time: written, fieldsV1: { 'f:data': {} } }];
  const app = object('app', { managedFields, creationTimestamp: BEFORE }, { data: DATA });
  const conditions = (time: string) => [{ type: 'PodScheduled', status: 'True', lastTransitionTime: time }];
  const answers: Readonly<Record<string, readonly object[] | object | undefined>> = {
    '/api/v1/namespaces/shop/configmaps': [app],
    '/api/v1/namespaces/shop/configmaps/app': app,
    '/api/v1/namespaces/shop/secrets': [],
    '/api/v1/namespaces/shop/events':
      said === undefined
        ? undefined
        : [
            object(
              'e',
              {},
              { source: { component: 'reloader' }, lastTimestamp: NOON, reason: 'Reloaded', message: said },
            ),
          ],
    '/apis/apps/v1/deployments': [],
    '/apis/apps/v1/namespaces/shop/replicasets': [object('web-1', ownedBy('web'))],
    '/apis/apps/v1/namespaces/shop/deployments/web': object(
      'web',
      { annotations },
      { spec: { selector, template: { spec: { containers } }, ...spec }, status },
    ),
    '/api/v1/namespaces/shop/pods': pods?.map((time, at) =>
      object(`web-1-${at}`, ownedBy('web-1'), {
        spec: time === null ? {} : { nodeName: 'n' },
        status: { phase: time === null ? 'Pending' : 'Running', conditions: time === null ? [] : conditions(time) },
      }),
    ),
  };
  return answers[path];
}

const api = await scriptedApi(({ path, json, status }) => {
  const found = answer(path);
  if (found === undefined) status(403, 'Forbidden');
  else json(200, Array.isArray(found) ? listOf(found, '1') : found);
});
afterAll(() => api[Symbol.asyncDispose]());
const attune = commandLine({ server: api.connection.server.origin, authority: '', token: 'test' });

const FORBIDDEN = 'you may not list pods in namespace shop';
const CURRENT = sha1(DATA);

it.each<[string, Scene, object, RegExp]>([
  ['later pods', { pods: [AFTER] }, { is: 'current', from: 'pods' }, /up to date: its pod began after its last write/],
  ['no pods', { pods: [] }, { is: 'current' }, /no pods run/],
  [
    'a pod that waits for a node',
    { pods: [null, AFTER] },
    { is: 'current', pods: { total: 2, older: 0 } },
    /its 2 pods/,
  ],
  [
    'the very same second',
    { pods: [NOON, AFTER] },
    { is: 'unknown', pods: { total: 2, older: 0, unclear: 1 } },
    /not known: 1 of 2 pods began in the very second of its last write/,
  ],
  [
    'the very same second, and the mark of the data',
    { pods: [NOON], mark: CURRENT },
    { is: 'current', from: 'mark' },
    /up to date, says the mark/,
  ],
  [
    'earlier pods',
    { pods: [BEFORE, NOON, AFTER] },
    { is: 'older', pods: { total: 3, older: 1, unclear: 1 } },
    /1 of 3 pods is older than its last write.*whether a rollout waits is not known/,
  ],
  [
    'a rollout that is not over',
    { pods: [BEFORE], mark: CURRENT, status: { ...DONE, updatedReplicas: 0 } },
    { is: 'marked', hold: 'rolling' },
    /marked but not rolled out: 1 of 1 pods is older than the change; they are being replaced/,
  ],
  [
    'a template that its controller has not seen',
    { pods: [BEFORE], mark: CURRENT, status: { ...DONE, observedGeneration: 0 } },
    { is: 'marked', hold: 'unseen' },
    /its controller has not looked at it yet/,
  ],
  ['nobody knows when', { pods: [BEFORE], written: null }, { is: 'unknown' }, /when its data was written is not known/],
  ['no right to list pods', {}, { is: 'unknown', why: FORBIDDEN }, /not known: you may not list pods/],
  [
    'no such right, but the mark and a rollout that is over',
    { mark: CURRENT },
    { is: 'current', from: 'mark' },
    /up to date, says the mark/,
  ],
  [
    'no such right, but the mark and one that is not',
    { mark: CURRENT, spec: { paused: true }, status: { ...DONE, updatedReplicas: 0 } },
    { is: 'marked', hold: 'paused', progress: { pods: 1, updated: 0 } },
    /marked but not rolled out: 1 of 1 pods are of an earlier template; it is paused/,
  ],
])('%s', async (_, given, state, words) => {
  scene = given;
  const { stdout } = await attune('explain', 'deploy/web', '-n', 'shop', '-o', 'json');
  expect(JSON.parse(stdout).sources).toMatchObject([{ rolls: true, state }]);
  const text = (await attune('explain', 'deploy/web', '-n', 'shop')).stdout.replaceAll(/\s+/g, ' ');
  expect(text).toMatch(words);
  expect(text.includes('up to date')).toBe('is' in state && state.is === 'current' && given.pods?.length !== 0);
});

it('asks for pods of the namespace by the selector, once', async () => {
  scene = { pods: [AFTER] };
  const before = api.requests.length;
  await attune('explain', 'deploy/web', '-n', 'shop');
  const asked = api.requests.slice(before).filter(({ path }) => /\/(pods|replicasets)$/.test(path));
  expect(asked.map(({ path, query }) => [path, query.get('labelSelector')])).toEqual([
    ['/apis/apps/v1/namespaces/shop/replicasets', 'app=web'],
    ['/api/v1/namespaces/shop/pods', 'app=web'],
  ]);
});

it.each([
  [{}, '1 s after the last change, 10 s after the first at the latest', 1000],
  [{ [MAX_WAIT]: '500ms' }, '0.5 s after the first change: max-wait ends the quiet period of 1 s', 500],
  [{ [QUIET_PERIOD]: '1m' }, '10 s after the first change: max-wait ends the quiet period of 60 s', 10_000],
  [{ [MAX_WAIT]: '0s' }, 'at once', 0],
])('says when a change is rolled, as the controller decides it: %j', async (annotations, words, dueMs) => {
  scene = { pods: [BEFORE], mark: 'other', annotations };
  const { stdout } = await attune('explain', 'deploy/web', '-n', 'shop', '-o', 'json');
  const [{ state }] = JSON.parse(stdout).sources;
  expect(state).toMatchObject({ is: 'pending' });
  expect(Date.parse(state.until) - Date.parse(state.since)).toBe(dueMs);
  const text = (await attune('explain', 'deploy/web', '-n', 'shop')).stdout.replaceAll(/\s+/g, ' ');
  expect(text).toContain(words);
});

it('what an Event, an annotation or the server says steers no terminal', async () => {
  const hostile = '\x1b[2J\x1b]0;x\x07\x9b1m\u202e\nattune: all is well';
  const shown = '\\u001b[2J\\u001b]0;x\\u0007\\u009b1m\\u202e\\nattune: all is well';
  scene = { pods: [AFTER], said: hostile, annotations: { [QUIET_PERIOD]: hostile } };
  for (const more of [[], ['-o', 'json']]) {
    const { stdout } = await attune('explain', 'deploy/web', '-n', 'shop', ...more);
    expect(stdout).toContain(shown);
    expect(stdout.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
    expect(stdout).not.toContain('\nattune: all is well');
  }
  const { stdout } = await attune('explain', 'deploy/web', '-n', 'shop', '-o', 'json');
  expect(JSON.parse(stdout).events).toMatchObject([{ message: hostile }]);
});
