import { expect, test } from 'vitest';
import { ON_CHANGE } from '../../../src/api/annotations.ts';
import type { Audit } from '../../support/audit.ts';
import { faultProxy } from '../../support/proxy.ts';
import { type AnyObject, ApiRefusal, api } from '../../support/sandbox.ts';
import { until } from '../../support/wait.ts';
import { pathOf, podUsing, sha1, type WorkloadOptions, workload } from '../../support/workloads.ts';
import { AUTO, marksOf } from './moves.ts';
import { COMPAT, DEFAULT, MODES, type Scene, scene } from './scene.ts';

const proxy = await faultProxy();

const A = { value: 'a' };
const B = { value: 'b' };
const C = { value: 'c' };
const MARK = 'app/STAKATER_APP_CONFIGMAP';
const pod = podUsing({ kind: 'ConfigMap', name: 'app' }, 'envFrom');
const onChange = (value: string) => ({ ...AUTO, [ON_CHANGE]: value });
/** Done at once, as there is nothing to complete. */
const COMPLETED = { parallelism: 0, completions: 0 };

const jobsOf = (audit: Audit, cronJob: string): readonly AnyObject[] =>
  audit.all('Job').filter(({ metadata }) => metadata.name.startsWith(`${cronJob}-`));

async function runs(here: Scene, cronJob: string, count: number): Promise<readonly AnyObject[]> {
  return await here.audit.until(`${count} Jobs of ${cronJob}`, () => {
    const jobs = jobsOf(here.audit, cronJob);
    return jobs.length >= count && jobs;
  });
}

async function createJob(here: Scene, name: string, options: WorkloadOptions): Promise<AnyObject> {
  const job = await here.create('Job', name, { pod, ...options });
  if (options.spec !== COMPLETED) return job;
  return await here.audit.until(`${name} completed`, () => {
    const seen = here.audit.latest('Job', name);
    return seen?.['status'].conditions?.some(({ type }: { type: string }) => type === 'Complete') && seen;
  });
}

const replaced = (here: Scene, { metadata }: AnyObject, deadlineMs?: number) =>
  here.audit.until(
    `${metadata.name} replaced`,
    () => {
      const job = here.audit.latest('Job', metadata.name);
      return job && job.metadata.uid !== metadata.uid && job;
    },
    deadlineMs,
  );

const jobScene = () => scene(['CronJob', 'Job']);

test.each(MODES)('6. a CronJob gets one new Job per change, also back to an earlier value: %s', async (mode) => {
  await using here = await jobScene();
  await here.createSource('ConfigMap', 'app', A);
  const before = await here.create('CronJob', 'nightly', { annotations: AUTO, pod });
  await here.start([mode]);
  for (const [index, data] of [B, A, B, C].entries()) {
    await here.setData('ConfigMap', 'app', data);
    const jobs = await runs(here, 'nightly', index + 1);
    const marks = jobs.map((job) => marksOf('Job', job)[MARK]);
    expect(marks.filter((mark) => mark === sha1(data))).toHaveLength(index === 2 ? 2 : 1);
  }
  await here.fence.pass();
  expect(jobsOf(here.audit, 'nightly')).toHaveLength(4);
  const after = here.audit.latest('CronJob', 'nightly');
  expect(after?.['spec']).toEqual(before['spec']);
  expect(after?.metadata.annotations).toEqual(before.metadata.annotations);
});

test('6. Stakater: a suspended CronJob still gets a Job, and a completed Job runs again', async () => {
  await using here = await jobScene();
  await here.createSource('ConfigMap', 'app', A);
  await here.create('CronJob', 'suspended', { annotations: AUTO, pod, spec: { suspend: true } });
  const done = await createJob(here, 'done', { annotations: AUTO, spec: COMPLETED });
  const byTemplate = await createJob(here, 'by-template', { templateAnnotations: AUTO, spec: COMPLETED });
  await here.start([COMPAT]);
  await here.setData('ConfigMap', 'app', B);
  await runs(here, 'suspended', 1);
  for (const before of [done, byTemplate]) {
    const job = await replaced(here, before);
    expect(marksOf('Job', job)).toEqual({ [MARK]: sha1(B) });
    expect(job.metadata.annotations).toEqual(before.metadata.annotations);
  }
});

test('6. by default a suspended CronJob is not run, nor a completed Job that does not ask itself', async () => {
  await using here = await jobScene();
  await here.createSource('ConfigMap', 'app', A);
  await here.create('CronJob', 'suspended', { annotations: AUTO, pod, spec: { suspend: true } });
  await here.create('CronJob', 'told-to-run', { annotations: onChange('run'), pod, spec: { suspend: true } });
  await here.create('CronJob', 'told-to-ignore', { annotations: onChange('ignore'), pod });
  const asks = await createJob(here, 'asks', { annotations: AUTO, spec: COMPLETED });
  const told = await createJob(here, 'told', {
    templateAnnotations: AUTO,
    annotations: { [ON_CHANGE]: 'run' },
    spec: COMPLETED,
  });
  const active = await createJob(here, 'active', { templateAnnotations: AUTO });
  const left = [
    await createJob(here, 'by-template', { templateAnnotations: AUTO, spec: COMPLETED }),
    await createJob(here, 'by-flag', { spec: COMPLETED }),
    await createJob(here, 'ignores', { annotations: onChange('ignore') }),
  ];
  await here.start([DEFAULT, '--auto-reload-all']);
  await here.setData('ConfigMap', 'app', B);
  await runs(here, 'told-to-run', 1);
  for (const job of [asks, told, active]) await replaced(here, job);
  await here.fence.pass();
  expect(jobsOf(here.audit, 'suspended')).toEqual([]);
  expect(jobsOf(here.audit, 'told-to-ignore')).toEqual([]);
  for (const { metadata } of left) expect(here.audit.latest('Job', metadata.name)?.metadata.uid).toBe(metadata.uid);
});

test('6. by default what a CronJob has started goes on: one more Job per change, and no other', async () => {
  await using here = await jobScene();
  await here.createSource('ConfigMap', 'app', A);
  await here.create('CronJob', 'nightly', { annotations: AUTO, pod, templateAnnotations: AUTO });
  await here.create('CronJob', 'suspended', { annotations: AUTO, pod, spec: { suspend: true } });
  const attune = await here.start([DEFAULT, '--auto-reload-all']);
  await here.setData('ConfigMap', 'app', B);
  const [first] = await runs(here, 'nightly', 1);
  await here.setData('ConfigMap', 'app', A);
  await runs(here, 'nightly', 2);
  await here.fence.pass();
  expect(jobsOf(here.audit, 'nightly')).toHaveLength(2);
  expect(here.audit.latest('Job', first?.metadata.name ?? '')?.metadata.uid).toBe(first?.metadata.uid);
  await attune.untilLine(/CronJob .*\/suspended will not run for what changed: it is suspended/);
});

test('6. on-change: template changes the CronJob and runs nothing', async () => {
  await using here = await jobScene();
  await here.createSource('ConfigMap', 'app', A);
  await here.create('CronJob', 'nightly', { annotations: onChange('template'), pod });
  await here.start([DEFAULT]);
  await here.setData('ConfigMap', 'app', B);
  await here.audit.until('the CronJob marked', () => {
    return marksOf('CronJob', here.audit.latest('CronJob', 'nightly'))[MARK] === sha1(B);
  });
  await here.fence.pass();
  expect(jobsOf(here.audit, 'nightly')).toEqual([]);
  expect(here.audit.templates('CronJob', 'nightly')).toHaveLength(2);
});

test.each(MODES)('6. --ignored-workload-types leaves both kinds alone: %s', async (mode) => {
  await using here = await jobScene();
  await here.createSource('ConfigMap', 'app', A);
  await here.create('CronJob', 'nightly', { annotations: AUTO, pod });
  const job = await createJob(here, 'once', { annotations: AUTO });
  await here.start([mode, '--ignored-workload-types=jobs,cronjobs']);
  await here.setData('ConfigMap', 'app', B);
  await here.fence.pass();
  expect(jobsOf(here.audit, 'nightly')).toEqual([]);
  expect(here.audit.latest('Job', 'once')?.metadata.uid).toBe(job.metadata.uid);
});

const through = (here: Scene) => ({ access: { ...here.stage.access, server: proxy.access.server } });
const REALLY_CREATE = /\/jobs\?(?!.*dryRun)/;

test.each(MODES)('6. a CronJob whose answer was lost is run once, also over kill -9: %s', async (mode) => {
  await using here = await jobScene();
  await here.createSource('ConfigMap', 'app', A);
  await here.create('CronJob', 'nightly', { annotations: AUTO, pod });
  const attune = await here.start([mode], through(here));
  proxy.setRules([{ fault: { type: 'cut', afterBytes: 0 }, verbs: ['create'], path: REALLY_CREATE }]);
  await here.setData('ConfigMap', 'app', B);
  await runs(here, 'nightly', 1);
  await attune.kill9();
  proxy.setRules([]);
  await here.start([mode]);
  await here.fence.pass();
  expect(jobsOf(here.audit, 'nightly')).toHaveLength(1);
});

test.each(MODES)('6. a Job killed between delete and create comes back: %s', async (mode) => {
  await using here = await jobScene();
  await here.createSource('ConfigMap', 'app', A);
  const before = await createJob(here, 'once', { annotations: AUTO });
  const attune = await here.start([mode], through(here));
  proxy.setRules([{ fault: { type: 'silence' }, verbs: ['create'], path: REALLY_CREATE }]);
  await here.setData('ConfigMap', 'app', B);
  await here.audit.until('the Job gone', () => here.audit.latest('Job', 'once') === undefined);
  await attune.kill9();
  proxy.setRules([]);
  await here.start([mode]);
  const job = await replaced(here, before);
  expect(marksOf('Job', job)).toEqual({ [MARK]: sha1(B) });
  await here.fence.pass();
  expect(here.audit.latest('Job', 'once')?.metadata.uid).toBe(job.metadata.uid);
});

test.each([
  ['deletes it', 'Background'],
  ['is deleting it', 'Foreground'],
])('6. a Job stays gone if its owner %s while Attune writes its journal', async (_, propagationPolicy) => {
  await using here = await jobScene();
  await here.createSource('ConfigMap', 'app', A);
  await createJob(here, 'once', { annotations: AUTO });
  const attune = await here.start([DEFAULT], through(here));
  const [kept, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const fault = { type: 'hold', answered: kept.resolve, until: goOn.promise } as const;
  proxy.setRules([{ fault, verbs: ['create', 'patch'], path: /\/secrets/, times: 1 }]);
  await here.setData('ConfigMap', 'app', B);
  await kept.promise;
  await api().delete(`${pathOf('Job', here.space)}/once?propagationPolicy=${propagationPolicy}`);
  goOn.resolve();
  await attune.untilLine(/Job .*\/once is not replaced: somebody else deleted it/);
  await here.audit.until('the Job gone', () => here.audit.latest('Job', 'once') === undefined);
  await here.fence.pass();
  expect(here.audit.latest('Job', 'once')).toBeUndefined();
  // Nor does the next process find anything to go on with.
  await attune.kill9();
  await here.start([DEFAULT]);
  await here.fence.pass();
  expect(here.audit.latest('Job', 'once')).toBeUndefined();
});

test('6. a Job that nobody would admit again is not deleted', async () => {
  await using here = await jobScene();
  await here.createSource('ConfigMap', 'app', A);
  const job = await createJob(here, 'once', { annotations: AUTO });
  await here.start([DEFAULT]);
  // Quantities of nothing: whatever asks for less than everything is refused.
  await api().create(`/api/v1/namespaces/${here.space}/resourcequotas`, {
    metadata: { name: 'none' },
    spec: { hard: { 'count/jobs.batch': '0' } },
  });
  // A quota is in force when its controller has counted, and the server heard of that.
  const isRefused = () =>
    api()
      .create(`${pathOf('Job', here.space)}?dryRun=All`, workload('Job', 'another', { pod }))
      .then(
        () => false,
        (error: unknown) => error instanceof ApiRefusal && error.status === 403,
      );
  await until(isRefused, { what: 'the quota in force' });
  await here.setData('ConfigMap', 'app', B);
  await here.fence.pass();
  expect(here.audit.latest('Job', 'once')?.metadata.uid).toBe(job.metadata.uid);
  await api().delete(`/api/v1/namespaces/${here.space}/resourcequotas/none`);
  // Each refusal doubles the wait for the next try: the longer the fence took, the longer this takes.
  await replaced(here, job, 120_000);
});
