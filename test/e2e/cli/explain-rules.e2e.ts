import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Stage, stage } from '../../support/controller.ts';
import { installKinds } from '../../support/crds.ts';
import { api } from '../../support/sandbox.ts';
import { until } from '../../support/wait.ts';
import { podUsing, type WorkloadOptions, workload } from '../../support/workloads.ts';
import { AUTO, explainer } from './explained.ts';

const APP = { kind: 'ConfigMap', name: 'app' } as const;
let place: Stage;
let cli: ReturnType<typeof explainer>;
const admin = api();
const deployments = () => `/apis/apps/v1/namespaces/${place.space}/deployments`;
const about: typeof cli.about = (...words) => cli.about(...words);
const explained: typeof cli.explained = (...words) => cli.explained(...words);
const create: typeof cli.create = (...words) => cli.create(...words);

beforeAll(async () => {
  place = await stage();
  cli = explainer(place);
  await admin.create(`/api/v1/namespaces/${place.space}/configmaps`, { metadata: { name: 'app' }, data: { a: '1' } });
});
afterAll(() => place[Symbol.asyncDispose]());

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
    expect(no).toMatchObject({ rolls: false, because, cures: [expect.stringMatching(/^(set|take) /)] });
    await cure(name);
    const yes = await about(`deployment/${name}`);
    expect(yes.rolls).toBe(true);
    expect(yes.cures).toEqual([]);
  });

  it('what the flags keep from being seen comes before every annotation', async () => {
    await create('unseen', { annotations: AUTO, pod: podUsing(APP, 'envFrom') });
    expect(await about('deploy/unseen', `--namespaces-to-ignore=${place.space}`)).toMatchObject({
      rolls: false,
      because: 'not-watched',
      cures: [`take ${place.space} out of --namespaces-to-ignore`],
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
      cures: ['set configmap.reloader.stakater.com/reload: "app" in metadata of Deployment stranger'],
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

describe('what a change would do, a creation and a deletion too', () => {
  it.each([
    ['neither', [], false, false],
    ['created', ['--reload-on-create=true'], true, false],
    ['deleted', ['--reload-on-delete=true'], false, true],
  ])('%s: %j', async (name, flags, created, deleted) => {
    await create(name, { annotations: AUTO, pod: podUsing(APP, 'envFrom') });
    const found = await about(`deploy/${name}`, ...flags);
    expect(found).toMatchObject({ rolls: true, ifCreated: { rolls: created }, ifDeleted: { rolls: deleted } });
    const words = await cli.inWords(`deploy/${name}`, ...flags);
    const said = (rolls: boolean, flag: string) =>
      rolls ? `the same (${flag}=true)` : `nothing happens (${flag} is not set)`;
    expect(words).toContain(
      `or if it is created: ${said(created, '--reload-on-create')}; ` +
        `it is deleted: ${said(deleted, '--reload-on-delete')}`,
    );
  });

  it('what does not roll for a change does not roll for them either', async () => {
    await create('never', { pod: podUsing(APP, 'envFrom') });
    const found = await about('deploy/never', '--reload-on-create=true', '--reload-on-delete=true');
    expect(found).toMatchObject({ rolls: false, ifCreated: { rolls: false }, ifDeleted: { rolls: false } });
  });
});

describe('what one asks about, and what one gets to hear', () => {
  it('a pod: the workload that made it', async () => {
    await create('owner', { annotations: AUTO, pod: podUsing(APP, 'envFrom'), spec: { replicas: 1 } });
    const path = `/api/v1/namespaces/${place.space}/pods?labelSelector=app%3Downer`;
    const [pod] = await until(
      async () => {
        const found = await admin.list(path);
        return found.length === 1 && found;
      },
      { what: 'its pod' },
    );
    const name = pod?.metadata.name ?? '';
    const set = name.slice(0, name.lastIndexOf('-'));
    for (const [word, note] of [
      [`pod/${name}`, `Pod ${name} is of ReplicaSet ${set}, of Deployment owner`],
      [`rs/${set}`, `ReplicaSet ${set} is of Deployment owner`],
    ] as const) {
      const report = await explained(word);
      expect(report.workload).toMatchObject({ kind: 'Deployment', name: 'owner' });
      expect(report.notes).toContain(note);
      expect(report.sources).toMatchObject([{ rolls: true }]);
    }
  });

  it('a pod of a run: the CronJob', async () => {
    const path = `/apis/batch/v1/namespaces/${place.space}`;
    const { metadata } = await admin.create(
      `${path}/cronjobs`,
      workload('CronJob', 'yearly', { annotations: AUTO, pod: podUsing(APP, 'envFrom') }),
    );
    const job = workload('Job', 'yearly-1', { spec: { parallelism: 1 } });
    const ownerReferences = [
      { apiVersion: 'batch/v1', kind: 'CronJob', name: 'yearly', uid: metadata.uid, controller: true },
    ];
    await admin.create(`${path}/jobs`, { ...job, metadata: { name: 'yearly-1', ownerReferences } });
    const pods = `/api/v1/namespaces/${place.space}/pods?labelSelector=job-name%3Dyearly-1`;
    const [pod] = await until(
      async () => {
        const found = await admin.list(pods);
        return found[0]?.['spec'].nodeName !== undefined && found;
      },
      { what: 'its pod' },
    );
    // That it has made a pod, a Job says a moment after there is one.
    const isActive = async () => (await admin.get(`${path}/jobs/yearly-1`))['status'].active === 1;
    await until(isActive, { what: 'its run being counted' });
    const report = await explained(`po/${pod?.metadata.name}`);
    expect(report.workload).toMatchObject({ kind: 'CronJob', name: 'yearly' });
    expect(report.sources).toMatchObject([{ action: 'run', state: { is: 'current', pods: { total: 1 } } }]);
    // Who names a Job means the Job.
    expect((await explained('job/yearly-1')).workload).toMatchObject({ kind: 'Job' });
  });

  it('a pod that nobody made', async () => {
    const pod = { metadata: { name: 'lonely' }, spec: { containers: [{ name: 'x', image: 'x' }] } };
    await admin.create(`/api/v1/namespaces/${place.space}/pods`, pod);
    expect(await cli.attune('explain', 'pod/lonely', '-n', place.space)).toMatchObject({
      code: 1,
      stderr: 'attune explain: Pod lonely has no owner: what no workload makes is never rolled\n',
    });
  });

  it.each([
    ['configmap/app', 'attune impact configmap/app -n shop --context=there'],
    ['cm/app', 'attune impact configmap/app -n shop --context=there'],
    ['secret/token', 'attune impact secret/token -n shop --context=there'],
  ])('%s: the command that tells', async (word, command) => {
    const { code, stderr } = await cli.attune('explain', word, '-n', 'shop', '--context', 'there');
    expect(code).toBe(2);
    expect(stderr).toContain(`which workloads it rolls is told by: ${command}\n`);
  });

  it.each([['explain', 'deploy/web'], ['explain', 'pod/web-1'], ['impact', 'cm/app'], ['doctor'], ['resume']])(
    'a namespace that there is not: %s %s',
    async (...words) => {
      const { code, stderr, stdout } = await cli.attune(...words.filter(Boolean), '-n', 'no-such-place');
      expect(code).toBeGreaterThan(0);
      expect(stderr).toContain(`attune ${words[0]}: there is no namespace no-such-place\n`);
      expect(stdout).toBe('');
    },
  );

  it('slips are told, also in the mode in which the controller is silent about them', async () => {
    await create('slipped', {
      annotations: { 'reloader.stakater.com/autos': 'true', 'configmap.reloader.stakater.com/reload': 'ap*' },
      templateAnnotations: { 'configmaps.exclude.reloader.stakater.com/reload': 'app' },
      pod: podUsing(APP, 'envFrom'),
    });
    for (const flags of [[], ['--compat=stakater']]) {
      const { problems } = await explained('deploy/slipped', ...flags);
      expect(problems).toEqual([
        'reloader.stakater.com/autos is not read: did you mean reloader.stakater.com/auto?',
        'configmaps.exclude.reloader.stakater.com/reload has no effect in the pod template: it is read from metadata alone',
        'configmap.reloader.stakater.com/reload "ap*" is a regular expression and no wildcard: did you mean "ap.*"?',
      ]);
    }
  });
});
