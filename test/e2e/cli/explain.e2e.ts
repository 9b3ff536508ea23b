import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { WorkloadReport } from '../../../src/cli/commands/explain-text.ts';
import type { Explanation } from '../../../src/cli/explanation.ts';
import { type Stage, stage } from '../../support/controller.ts';
import { installKinds } from '../../support/crds.ts';
import { api, serviceAccount } from '../../support/sandbox.ts';
import { until } from '../../support/wait.ts';
import { podUsing, type WorkloadOptions, workload } from '../../support/workloads.ts';
import { commandLine } from './run.ts';

const AUTO = { 'reloader.stakater.com/auto': 'true' };
const APP = { kind: 'ConfigMap', name: 'app' } as const;
const TOKEN = { kind: 'Secret', name: 'token' } as const;
const SECRET_TEXT = 'do-not-show-me';
// Other test files install Attune too, and its flags would count.
const DEFAULTS = '--reload-strategy=env-vars';

let place: Stage;
let attune: ReturnType<typeof commandLine>;
const admin = api();
const deployments = () => `/apis/apps/v1/namespaces/${place.space}/deployments`;
const configMaps = () => `/api/v1/namespaces/${place.space}/configmaps`;

beforeAll(async () => {
  place = await stage();
  attune = commandLine(undefined, { ATTUNE_NAMESPACE: place.home });
  await admin.create(configMaps(), { metadata: { name: 'app' }, data: { a: '1' } });
  const secret = { metadata: { name: 'token' }, stringData: { text: SECRET_TEXT } };
  await admin.create(`/api/v1/namespaces/${place.space}/secrets`, secret);
});
afterAll(() => place[Symbol.asyncDispose]());

async function create(name: string, options: WorkloadOptions) {
  await admin.create(deployments(), workload('Deployment', name, options));
}

async function explained(name: string, ...flags: string[]): Promise<WorkloadReport> {
  const { code, stdout, stderr } = await attune('explain', name, '-n', place.space, '-o', 'json', DEFAULTS, ...flags);
  expect(stderr).toBe('');
  expect(code).toBe(0);
  return JSON.parse(stdout);
}

async function about(name: string, ...flags: string[]): Promise<Explanation> {
  const [first] = (await explained(name, ...flags)).sources;
  if (!first) throw new Error(`${name} has no source`);
  return first;
}

describe('how things stand, over a change that is rolled out and one that is not', () => {
  it('tells what is applied, what waits, and until when', async () => {
    await create('web', { annotations: AUTO, pod: podUsing(APP, 'envFrom') });
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
    expect(rolled.sources[0]?.state).toEqual({ is: 'current', from: 'record' });
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
    expect((await about('deploy/quiet')).state).toEqual({ is: 'current', from: 'checkpoint' });
    const token = `/api/v1/namespaces/${place.space}/secrets/token`;
    await admin.patch(token, { stringData: { text: `${SECRET_TEXT}-2` } });
    expect((await about('deploy/quiet')).state).toMatchObject({ is: 'pending', from: 'checkpoint' });
  });
});

it('a change that another writer keeps undoing is not delivered', async () => {
  const source = { kind: 'ConfigMap', name: 'fought-over' } as const;
  await admin.create(configMaps(), { metadata: { name: source.name }, data: { a: '1' } });
  await create('fought', { annotations: AUTO, pod: podUsing(source, 'envFrom') });
  await using controller = await place.start(['--quiet-period=0s']);
  // Before the change: afterwards the mark may be on them already.
  const containers = (await admin.get(`${deployments()}/fought`))['spec'].template.spec.containers;
  await admin.patch(`${configMaps()}/${source.name}`, { data: { a: '2' } });
  const isMarked = async () => (await about('deploy/fought')).mark?.found === 'current';
  for (let round = 0; round < 2; round += 1) {
    await until(isMarked, { what: 'the mark' });
    await admin.patch(`${deployments()}/fought`, { spec: { template: { spec: { containers } } } });
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

describe('a no names the rule, and its cure works', () => {
  it.each<[string, WorkloadOptions, string, (name: string) => Promise<unknown>]>([
    [
      'asks-nothing',
      { pod: podUsing(APP, 'volume') },
      'not-asked',
      (name) => admin.patch(`${deployments()}/${name}`, { metadata: { annotations: AUTO } }),
    ],
    [
      'excludes',
      {
        annotations: { ...AUTO, 'configmaps.exclude.reloader.stakater.com/reload': 'app' },
        pod: podUsing(APP, 'volume'),
      },
      'excluded',
      (name) =>
        admin.patch(`${deployments()}/${name}`, {
          metadata: { annotations: { 'configmaps.exclude.reloader.stakater.com/reload': null } },
        }),
    ],
    [
      'forbids',
      { annotations: { 'reloader.stakater.com/auto': 'false' }, pod: podUsing(APP, 'envFrom') },
      'auto-false',
      (name) => admin.patch(`${deployments()}/${name}`, { metadata: { annotations: AUTO } }),
    ],
  ])('%s', async (name, options, because, cure) => {
    await create(name, options);
    const no = await about(`deployment/${name}`);
    expect(no).toMatchObject({ rolls: false, because, cure: expect.stringMatching(/^(set|take) /) });
    await cure(name);
    const yes = await about(`deployment/${name}`);
    expect(yes.rolls).toBe(true);
    expect(yes.cure).toBeUndefined();
  });

  it('what the flags keep from being seen comes before every annotation', async () => {
    await create('unseen', { annotations: AUTO, pod: podUsing(APP, 'envFrom') });
    expect(await about('deploy/unseen', `--namespaces-to-ignore=${place.space}`)).toMatchObject({
      rolls: false,
      because: 'not-watched',
      cure: `take ${place.space} out of --namespaces-to-ignore`,
    });
    expect(await about('deploy/unseen', '--resources-to-ignore=configmaps')).toMatchObject({ because: 'not-watched' });
    expect(await about('deploy/unseen', '--auto-annotation=example.com/auto')).toMatchObject({ because: 'not-asked' });
  });

  it('a source that it has nothing to do with', async () => {
    await create('stranger', { annotations: AUTO });
    const { sources } = await explained('deploy/stranger');
    expect(sources).toEqual([]);
    expect(await about('deploy/stranger', '--source=cm/app')).toMatchObject({
      because: 'not-used',
      cure: 'set configmap.reloader.stakater.com/reload: "app" in metadata of Deployment stranger',
    });
  });

  it('a suspended CronJob has nothing to run', async () => {
    const path = `/apis/batch/v1/namespaces/${place.space}/cronjobs`;
    await admin.create(
      path,
      workload('CronJob', 'nightly', { annotations: AUTO, pod: podUsing(APP, 'envFrom'), spec: { suspend: true } }),
    );
    expect(await about('cj/nightly')).toMatchObject({
      rolls: false,
      because: 'nothing-to-do',
      rule: 'it is suspended',
    });
    await admin.patch(`${path}/nightly`, { metadata: { annotations: { 'attune.dev/on-change': 'run' } } });
    expect(await about('cj/nightly')).toMatchObject({ rolls: true, action: 'run' });
  });
});

it('a name in the list that does not exist is told', async () => {
  await create('typo', { annotations: { 'configmap.reloader.stakater.com/reload': 'ap' } });
  expect(await about('deploy/typo')).toMatchObject({ source: { name: 'ap' }, rolls: true, presence: 'absent' });
});

it('a Rollout that borrows a template speaks for the Deployment it belongs to', async () => {
  await installKinds(['Rollout']);
  await create('lender', { pod: podUsing(APP, 'envFrom') });
  const rollouts = `/apis/argoproj.io/v1alpha1/namespaces/${place.space}/rollouts`;
  const workloadRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'lender' };
  await until(
    () =>
      admin.create(rollouts, {
        apiVersion: 'argoproj.io/v1alpha1',
        kind: 'Rollout',
        metadata: { name: 'borrower', annotations: AUTO },
        spec: { workloadRef },
      }),
    { what: 'a Rollout' },
  );
  const flag = '--is-Argo-Rollouts=true';
  for (const name of ['rollout/borrower', 'deploy/lender']) {
    const { workload: ref, sources } = await explained(name, flag);
    expect(ref).toMatchObject({ kind: 'Deployment', name: 'lender' });
    expect(sources).toMatchObject([{ rolls: true, because: 'auto' }]);
  }
  expect(await about('deploy/lender')).toMatchObject({ rolls: false });
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
      const { stdout } = await attune('explain', 'deploy/quiet', '-n', place.space, ...output);
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
    const { code, stderr } = await attune(...argv);
    expect(code).toBe(expected);
    expect(stderr).toMatch(hint);
  });

  it('a name that does not exist: what there is', async () => {
    const { code, stderr } = await attune('explain', 'deploy/webb', '-n', place.space);
    expect(code).toBe(1);
    expect(stderr).toMatch(/there is no Deployment .*\/webb, did you mean web\?/);
    expect(stderr).toMatch(/the deployments there: asks-nothing, .* more/);
  });
});
