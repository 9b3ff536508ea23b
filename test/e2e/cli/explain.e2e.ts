import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { WorkloadReport } from '../../../src/cli/explain/explain-text.ts';
import { type Stage, stage } from '../../support/controller.ts';
import { api, serviceAccount } from '../../support/sandbox.ts';
import { until } from '../../support/wait.ts';
import { HELD_OPEN, podUsing, workload } from '../../support/workloads.ts';
import { AUTO, DEFAULTS, explainer } from './explained.ts';
import { commandLine } from './run.ts';

const APP = { kind: 'ConfigMap', name: 'app' } as const;
const TOKEN = { kind: 'Secret', name: 'token' } as const;
const SECRET_TEXT = 'do-not-show-me';

let place: Stage;
let cli: ReturnType<typeof explainer>;
const admin = api();
const deployments = () => `/apis/apps/v1/namespaces/${place.space}/deployments`;
const configMaps = () => `/api/v1/namespaces/${place.space}/configmaps`;
const about: typeof cli.about = (...words) => cli.about(...words);
const explained: typeof cli.explained = (...words) => cli.explained(...words);
const create: typeof cli.create = (...words) => cli.create(...words);

beforeAll(async () => {
  place = await stage();
  cli = explainer(place);
  await admin.create(configMaps(), { metadata: { name: 'app' }, data: { a: '1' } });
  const secret = { metadata: { name: 'token' }, stringData: { text: SECRET_TEXT } };
  await admin.create(`/api/v1/namespaces/${place.space}/secrets`, secret);
});
afterAll(() => place[Symbol.asyncDispose]());

describe('how things stand, over a change that is rolled out and one that is not', () => {
  it('tells what is applied, what waits, and until when', async () => {
    await create('web', { annotations: AUTO, pod: podUsing(APP, 'envFrom') });
    // Else it is written down once more when it is rolled out; after the change the record would not be the last word.
    const isAvailable = async () => {
      const conditions: readonly { readonly reason: string }[] = (await admin.get(`${deployments()}/web`))['status']
        .conditions;
      return conditions.some(({ reason }) => reason === 'NewReplicaSetAvailable');
    };
    await until(isAvailable, { what: 'web being rolled out' });
    const settled = await place.start();
    expect(await about('deploy/web')).toMatchObject({
      rolls: true,
      because: 'auto',
      action: 'patch',
      mark: { container: 'app', place: 'STAKATER_APP_CONFIGMAP', found: 'missing' },
      state: { is: 'current' },
    });

    await admin.patch(`${configMaps()}/app`, { data: { a: '2' } });
    const rolled = await until(
      async () => (await about('deploy/web')).mark?.found === 'current' && explained('deploy/web'),
      {
        what: 'the mark of the change',
      },
    );
    expect(rolled.sources[0]?.state).toMatchObject({ is: 'current', from: 'record', pods: { total: 0 } });
    expect(rolled.lastWrite).toBeDefined();
    await until(async () => (await explained('deploy/web')).events.some(({ reason }) => reason === 'Reloaded'), {
      what: 'its Event',
    });

    await settled.stop();
    await admin.patch(`${configMaps()}/app`, { data: { a: '3' } });
    const { state, mark } = await about('deploy/web');
    // Who stops writes down what it knows; who is killed leaves the record.
    expect(state).toMatchObject({
      is: 'pending',
      from: expect.stringMatching(/^(record|checkpoint)$/),
      change: 'changed',
    });
    expect(Date.parse(state.until ?? '') - Date.parse(state.since ?? '')).toBe(1000);
    expect(mark?.found).toBe('other');
    const longer = await about('deploy/web', '--quiet-period=1h', '--max-wait=2h');
    expect(longer.state).toMatchObject({ is: 'pending', overdue: false });
    // The data of before is no change to what the pods run with.
    await admin.patch(`${configMaps()}/app`, { data: { a: '2' } });
    expect((await about('deploy/web')).state.is).toBe('current');
  });

  it('knows from the checkpoint what was never rolled', async () => {
    await create('quiet', { annotations: AUTO, pod: podUsing(TOKEN, 'volume') });
    const controller = await place.start();
    await controller.stop();
    expect((await about('deploy/quiet')).state).toMatchObject({ is: 'current', from: 'checkpoint' });
    const token = `/api/v1/namespaces/${place.space}/secrets/token`;
    await admin.patch(token, { stringData: { text: `${SECRET_TEXT}-2` } });
    expect((await about('deploy/quiet')).state).toMatchObject({ is: 'pending', from: 'checkpoint' });
  });
});

it('a change that another writer keeps undoing is not delivered', async () => {
  const source = { kind: 'ConfigMap', name: 'fought-over' } as const;
  await admin.create(configMaps(), { metadata: { name: source.name }, data: { a: '1' } });
  await create('fought', { annotations: AUTO, pod: podUsing(source, 'envFrom'), spec: HELD_OPEN });
  await using controller = await place.start(['--quiet-period=0s']);
  // Before the change: afterwards the mark may be on them already.
  const { containers } = (await admin.get(`${deployments()}/fought`))['spec'].template.spec;
  const template = { metadata: { annotations: null }, spec: { containers } };
  await admin.patch(`${configMaps()}/${source.name}`, { data: { a: '2' } });
  const isMarked = async () => (await about('deploy/fought')).mark?.found === 'current';
  for (let round = 0; round < 2; round += 1) {
    await until(isMarked, { what: 'the mark' });
    await admin.patch(`${deployments()}/fought`, { spec: { template } });
  }
  await controller.untilLine(/undelivered/);
  const { state } = await until(
    async () => {
      const found = await about('deploy/fought');
      return found.state.is === 'undelivered' && found;
    },
    { what: 'the Event that tells of it' },
  );
  expect(state.is).toBe('undelivered');
});

describe('with fewer rights', () => {
  const read = (apiGroups: string[], resources: string[]) => ({ apiGroups, resources, verbs: ['get', 'list'] });

  it('answers all but what Secrets hold, and says so', async () => {
    await create('careful', { annotations: AUTO, pod: podUsing(TOKEN, 'envFrom') });
    const access = await serviceAccount(place.space, 'no-secrets', [
      read(['apps'], ['deployments']),
      read([''], ['configmaps']),
    ]);
    const answer = await commandLine(access)('explain', 'deploy/careful', '-n', place.space, DEFAULTS);
    expect(answer.stderr).toBe('');
    expect(answer.code).toBe(0);
    expect(answer.stdout).toMatch(/✓ Secret token: a change rolls it \(auto\)/);
    expect(answer.stdout).toMatch(/you may not read it/);
    expect(answer.stdout).toMatch(/you may not read the Secret attune-ledger-key/);
  });

  it('never shows what a Secret holds, with all rights', async () => {
    for (const output of [[], ['-o', 'json']]) {
      const { stdout } = await cli.attune('explain', 'deploy/quiet', '-n', place.space, ...output);
      expect(stdout).toContain('token');
      expect(stdout).not.toContain(SECRET_TEXT);
      expect(stdout).not.toContain(Buffer.from(SECRET_TEXT).toString('base64').slice(0, 12));
    }
  });

  it('a reader of nothing is told what is missing', async () => {
    const access = await serviceAccount(place.space, 'nobody', []);
    const { code, stderr } = await commandLine(access)('explain', 'deploy/web', '-n', place.space);
    expect(code).toBe(1);
    expect(stderr).toMatch(/Forbidden/);
  });
});

it('the flags of the Attune that watches the namespace count, unless flags are given', async () => {
  const installed = workload('Deployment', 'attune', {
    pod: {
      containers: [
        { name: 'attune', image: 'example/attune:1', args: [`--namespaces=${place.space}`, '--auto-reload-all'] },
      ],
    },
  });
  const metadata = { name: 'attune', labels: { 'app.kubernetes.io/name': 'attune' } };
  // As of a version that told nothing about itself.
  await admin.delete(`/api/v1/namespaces/${place.home}/configmaps/attune-info`);
  await admin.create(`/apis/apps/v1/namespaces/${place.home}/deployments`, { ...installed, metadata });
  await create('plain', { pod: podUsing(APP, 'envFrom') });
  const access = await serviceAccount(place.space, 'reader', [
    { apiGroups: ['*'], resources: ['*'], verbs: ['get', 'list'] },
  ]);
  const { stdout } = await commandLine(access)('explain', 'deploy/plain', '-n', place.space, '-o', 'json');
  const report: WorkloadReport = JSON.parse(stdout);
  expect(report.judgedBy).toBe(`the flags of Deployment ${place.home}/attune`);
  expect(report.sources).toMatchObject([{ because: 'auto-reload-all' }]);
  expect(await about('deploy/plain')).toMatchObject({ because: 'not-asked' });
});

describe('slips', () => {
  it.each([
    [['explain', 'deploymnet/web'], 2, /did you mean deployment\?/],
    [['explain', 'deploy/web', '-o', 'yaml'], 2, /-o knows json/],
    [['explain', 'deploy/web', '--auto-reload-al'], 2, /did you mean --auto-reload-all\?/],
    [['explain'], 2, /what\? for example deployment\/web/],
    [['explain', 'deploy/web', '--source', 'pod/x'], 2, /there is no kind "pod"/],
  ])('%j', async (argv, expected, hint) => {
    const { code, stderr } = await cli.attune(...argv);
    expect(code).toBe(expected);
    expect(stderr).toMatch(hint);
  });

  it('a name that does not exist: what there is', async () => {
    const { code, stderr } = await cli.attune('explain', 'deploy/webb', '-n', place.space);
    expect(code).toBe(1);
    expect(stderr).toMatch(/there is no Deployment .*\/webb, did you mean web\?/);
    expect(stderr).toMatch(/the deployments there: careful, .*quiet, web/);
  });
});
