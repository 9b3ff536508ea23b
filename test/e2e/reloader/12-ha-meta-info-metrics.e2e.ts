import { expect, test } from 'vitest';
import { LEASES } from '../../../src/api/resources.ts';
import type { Controller } from '../../support/controller.ts';
import { type AnyObject, api } from '../../support/sandbox.ts';
import { until } from '../../support/wait.ts';
import { pathOf } from '../../support/workloads.ts';
import { untilMarked } from './moves.ts';
import { COMPAT, DEFAULT, MODES, type Scene, scene } from './scene.ts';

const V1 = { value: '1' };
const V2 = { value: '2' };
const V3 = { value: '3' };
const V4 = { value: '4' };

const leasePath = ({ stage }: Scene) =>
  `/apis/${LEASES.group}/v1/namespaces/${stage.home}/${LEASES.plural}/stakater-reloader-lock`;
const lease = (here: Scene): Promise<AnyObject> => api().get(leasePath(here));
const holder = async (here: Scene): Promise<string> => (await lease(here))['spec'].holderIdentity ?? '';
const rollouts = (here: Scene) => here.audit.templates('Deployment', 'web').length - 1;
const writes = (attune: Controller) => attune.metric('reloader_reload_executed_total', { success: 'true' });

async function pair(mode: string) {
  const here = await scene();
  await here.createSource('ConfigMap', 'app', V1);
  await here.createUser('web', 'app');
  const replica = (name: string) => here.start([mode, '--enable-ha'], { env: { POD_NAME: name } });
  const leader = await replica('one');
  await until(async () => (await holder(here)) === 'one', { what: 'the first one leading' });
  const standby = await replica('two');
  return { here, leader, standby, replica };
}

test.each(MODES)(
  '12. only the holder of the Lease writes; released, it is taken over, and nothing is lost: %s',
  async (mode) => {
    const { here, leader, standby } = await pair(mode);
    await using _ = here;
    expect((await lease(here))['spec']).toMatchObject({ holderIdentity: 'one', leaseDurationSeconds: 15 });
    await here.setData('ConfigMap', 'app', V2);
    await untilMarked(here.audit, 'Deployment', 'web', V2);
    await here.fence.pass();
    expect(await writes(standby)).toBe(0);
    expect(await leader.metric('attune_leader')).toBe(1);
    for (const each of [leader, standby]) expect(await each.ask('/live')).toEqual({ status: 200, body: 'alive' });

    const asked = performance.now();
    expect(await leader.stop()).toBe(0);
    // Sooner than the Lease would have ended by itself. Usually it takes a moment, but this machine has other things to do.
    expect(performance.now() - asked).toBeLessThan(15_000);
    await here.setData('ConfigMap', 'app', V3);
    await until(async () => (await holder(here)) === 'two', { what: 'the second one leading' });
    await untilMarked(here.audit, 'Deployment', 'web', V3);
    await here.fence.pass();
    expect(rollouts(here)).toBe(2);
  },
);

test.concurrent.each(MODES)(
  '12. after kill -9 the other one waits for the Lease, and catches up once: %s',
  async (mode) => {
    const { here, leader } = await pair(mode);
    await using _ = here;
    await leader.kill9();
    await here.setData('ConfigMap', 'app', V2);
    await until(async () => (await holder(here)) === 'two', { what: 'the second one leading' });
    await untilMarked(here.audit, 'Deployment', 'web', V2);
    await here.fence.pass();
    expect(rollouts(here)).toBe(1);
  },
);

test.concurrent.each(MODES)(
  '12. a leader frozen between two writes changes nothing when it wakes up: %s',
  async (mode) => {
    const { here, leader, standby } = await pair(mode);
    await using _ = here;
    await here.setData('ConfigMap', 'app', V2);
    await untilMarked(here.audit, 'Deployment', 'web', V2);
    await here.setData('ConfigMap', 'app', V3);
    leader.freeze();
    await until(async () => (await holder(here)) === 'two', { what: 'the second one leading' });
    await untilMarked(here.audit, 'Deployment', 'web', V3);
    leader.thaw();
    await until(async () => (await leader.metric('attune_leader')) === 0, { what: 'the first one knowing' });
    // Upstream has to be replaced; otherwise it stands for election again.
    const live = mode === COMPAT ? { status: 500, body: '' } : { status: 200, body: 'alive' };
    expect(await leader.ask('/live')).toEqual(live);
    await here.setData('ConfigMap', 'app', V4);
    await untilMarked(here.audit, 'Deployment', 'web', V4);
    await here.fence.pass();
    expect(rollouts(here)).toBe(3);
    expect(await writes(standby)).toBeGreaterThan(2);
    expect(await holder(here)).toBe('two');
  },
);

test('12. as upstream, who loses the Lease to somebody else is not live and writes no more', async () => {
  await using here = await scene();
  await here.createSource('ConfigMap', 'app', V1);
  await here.createUser('web', 'app');
  const attune = await here.start([COMPAT, '--enable-ha'], { env: { POD_NAME: 'one' } });
  await until(async () => (await holder(here)) === 'one', { what: 'it leading' });
  const renewTime = new Date(Date.now() + 60_000).toISOString().replace('Z', '000Z');
  await api().patch(leasePath(here), { spec: { holderIdentity: 'somebody', renewTime, leaseDurationSeconds: 3600 } });
  await until(async () => (await attune.ask('/live')).status === 500, { what: 'it not live' });
  const seen = async () =>
    (await attune.metric('reloader_events_received_total', { event_type: 'update', resource_type: 'configmaps' })) ?? 0;
  const before = await seen();
  await here.setData('ConfigMap', 'app', V2);
  await until(async () => (await seen()) > before, { what: 'the change being seen' });
  expect(await writes(attune)).toBe(0);
  expect(rollouts(here)).toBe(0);
});

test('12. meta-info tells the settings, and no secret', async () => {
  await using here = await scene();
  const env = { RELOADER_NAMESPACE: '', RELOADER_DEPLOYMENT_NAME: 'attune' };
  const path = `/api/v1/namespaces/${here.stage.home}/configmaps/reloader-meta-info`;
  const silent = await here.start([DEFAULT], { env });
  await silent.untilLine(/RELOADER_NAMESPACE is unset/);
  expect(await api().find(path)).toBeUndefined();
  await silent.stop();

  const flags = [
    COMPAT,
    '--auto-reload-all',
    '--webhook-url=http://127.0.0.1:1/token',
    '--reload-strategy=annotations',
  ];
  await here.start(flags, { env: { ...env, RELOADER_NAMESPACE: here.stage.home } });
  const info = await until(() => api().find(path), { what: 'the meta-info' });
  expect(info.metadata.labels).toMatchObject({ 'reloader.stakater.com/meta-info': 'reloader' });
  expect(Object.keys(info['data']).sort()).toEqual(['buildInfo', 'deploymentInfo', 'reloaderOptions']);
  const options = JSON.parse(info['data'].reloaderOptions);
  expect(options).toMatchObject({ autoReloadAll: true, reloadStrategy: 'annotations', enableHA: false });
  expect(options).toMatchObject({ reloadOnCreate: false, namespacesToIgnore: [], resourcesToIgnore: [] });
  expect(JSON.stringify(info)).not.toContain('token');
  expect(JSON.parse(info['data'].deploymentInfo)).toMatchObject({ name: 'attune', namespace: here.stage.home });
  expect(JSON.parse(info['data'].buildInfo)).toMatchObject({ edition: 'oss' });
});

/** Name, type and labels of §13.2, with the bounds of histograms. */
const METRICS = `
reloader_reload_executed_total counter success
reloader_reconcile_total counter result
reloader_reconcile_duration_seconds histogram .001 .005 .01 .025 .05 .1 .25 .5 1 2.5 5 10
reloader_action_total counter workload_kind result
reloader_action_latency_seconds histogram .01 .05 .1 .25 .5 1 2.5 5 10 30 60
reloader_skipped_total counter reason
reloader_workqueue_depth gauge
reloader_workqueue_adds_total counter
reloader_workqueue_latency_seconds histogram .001 .005 .01 .025 .05 .1 .25 .5 1 2.5 5
reloader_events_received_total counter event_type resource_type
reloader_events_processed_total counter event_type resource_type result
reloader_workloads_scanned_total counter kind
reloader_workloads_matched_total counter kind
rest_client_requests_total counter code method host
rest_client_request_duration_seconds histogram .001 .01 .05 .1 .5 1 5 10 30
`
  .trim()
  .split('\n')
  .map((line) => line.split(' '));

test('12. metrics: both series of reload_executed from the start, and after a reload every name with its labels', async () => {
  await using here = await scene();
  await here.createSource('ConfigMap', 'app', V1);
  await here.createUser('web', 'app');
  const attune = await here.start([COMPAT]);
  for (const success of ['true', 'false']) {
    expect(await attune.metric('reloader_reload_executed_total', { success })).toBe(0);
  }
  await here.setData('ConfigMap', 'app', V2);
  await untilMarked(here.audit, 'Deployment', 'web', V2);
  await until(async () => (await writes(attune)) === 1, { what: 'the reload counted' });
  await api().patch(pathOf('ConfigMap', here.space, 'app'), { metadata: { labels: { to: 'skip' } } });
  await here.fence.pass();
  const actions = () => attune.metric('reloader_action_total', { workload_kind: 'Deployment', result: 'success' });
  // The mark is seen before the answer to its PATCH is counted: web once, and the fence two times two.
  await until(async () => ((await actions()) ?? 0) >= 5, { what: 'all reloads counted' });
  const { body } = await attune.ask('/metrics');
  const problems = METRICS.flatMap(([name = '', type, ...labels]) => {
    if (!body.includes(`# TYPE ${name} ${type}\n`)) return [`${name}: no TYPE ${type}`];
    const series = body.split('\n').filter((line) => line.startsWith(name));
    if (series.length === 0) return [`${name}: no series`];
    if (type !== 'histogram')
      return labels.filter((label) => !series[0]?.includes(`${label}="`)).map((l) => `${name}: ${l}`);
    const bounds = series.flatMap((line) => /le="([^"]+)"/.exec(line)?.[1] ?? []);
    const expected = [...labels.map(Number), Number.POSITIVE_INFINITY];
    const found = [...new Set(bounds.map((bound) => (bound === '+Inf' ? Number.POSITIVE_INFINITY : Number(bound))))];
    return JSON.stringify(found) === JSON.stringify(expected) ? [] : [`${name}: bounds ${found}`];
  });
  expect(problems).toEqual([]);
  expect(body).not.toContain('reloader_reload_executed_total_by_namespace{');
  expect(await actions()).toBe(5);
});

test('12. reloads by namespace are counted if asked for, and the profiler is not open', async () => {
  await using here = await scene();
  await here.createSource('ConfigMap', 'app', V1);
  await here.createUser('web', 'app');
  const attune = await here.start([COMPAT], { env: { METRICS_COUNT_BY_NAMESPACE: 'enabled' } });
  await here.setData('ConfigMap', 'app', V2);
  const labels = { success: 'true', namespace: here.space };
  const name = 'reloader_reload_executed_total_by_namespace';
  await until(async () => (await attune.metric(name, labels)) === 1, { what: 'the reload counted' });
  expect((await attune.ask('/debug/pprof/')).status).toBe(404);
  expect((await attune.ask('/healthz')).status).toBe(200);
});
