import { expect, test } from 'vitest';
import { Audit } from '../../support/audit.ts';
import { startController } from '../../support/controller.ts';
import { faultProxy } from '../../support/proxy.ts';
import { api, controlPlane, namespace } from '../../support/sandbox.ts';
import { until } from '../../support/wait.ts';
import { HELD_OPEN, pathOf, UNMARKED } from '../../support/workloads.ts';
import { movesIn, untilCalm, untilMarked } from '../reloader/moves.ts';
import { webWorld } from './web-world.ts';

const DEPLOYMENT = 'Deployment';
/** For what several requests change together: so long none of them takes, also on a busy machine. */
const TOGETHER = '--quiet-period=5s';

/** The world with a controller in it. */
async function world(flags: readonly string[] = []) {
  const here = await webWorld({ flags, kinds: ['Event'] });
  return Object.assign(here, { controller: await here.start() });
}

test.concurrent('source, then template, as helm upgrade does it: one rollout, not two', async () => {
  await using w = await world([TOGETHER]);
  await w.moves.setData('ConfigMap', 'web', { value: '2' });
  await w.setImage('v2');
  await w.fence();
  expect(w.rolls()).toBe(1);
});

test.concurrent('template, then source: the new pods may be older than the change, so it rolls', async () => {
  await using w = await world();
  await w.setImage('v2');
  await w.moves.setData('ConfigMap', 'web', { value: '2' });
  await untilMarked(w.audit, DEPLOYMENT, 'web', { value: '2' });
  expect(w.rolls()).toBe(2);
});

test.concurrent('an undo after the change goes back to pods that may be older, so it rolls', async () => {
  await using w = await world([TOGETHER]);
  // The rollout in between never completes: of one that did, no older pods would be left to go back to.
  await api().patch(pathOf(DEPLOYMENT, w.shop, 'web'), { spec: HELD_OPEN });
  await w.setImage('v2');
  await w.fence();
  await w.moves.setData('ConfigMap', 'web', { value: '2' });
  await w.setImage('app');
  await untilMarked(w.audit, DEPLOYMENT, 'web', { value: '2' });
  expect(w.rolls()).toBe(3);
});

test.concurrent('a writer who takes our mark away during the rollout is answered once; then the change stays visibly undelivered', async () => {
  await using w = await world();
  const strip = () => api().patch(pathOf(DEPLOYMENT, w.shop, 'web'), { spec: { template: UNMARKED } }, 'strategic');
  await api().patch(pathOf(DEPLOYMENT, w.shop, 'web'), { spec: HELD_OPEN });
  await w.moves.setData('ConfigMap', 'web', { value: '2' });
  await untilMarked(w.audit, DEPLOYMENT, 'web', { value: '2' });
  await strip();
  await w.audit.until('the change is applied once more', () => w.rolls() === 3);
  await strip();
  // It comes by the watch of workloads, with which that of the fence's source has no order in common.
  const undelivered = async () => await w.controller.metric('attune_undelivered_changes');
  await until(async () => (await undelivered()) === 1, { what: 'the change is given up' });
  await w.fence();
  expect(w.rolls()).toBe(4);
  expect(await undelivered()).toBe(1);
  expect(await w.controller.metric('attune_reverted_total')).toBe(2);
  const events = () => w.audit.all('Event').filter((event) => event['reason'] === 'ReloadReverted');
  await w.audit.until('Events tell of it', () => events().length > 0);
  // When the template moves next, its pods are new and have the data.
  await w.setImage('v2');
  await until(async () => (await undelivered()) === 0, { what: 'nothing is undelivered' });
});

test.concurrent('five sources that change together are one rollout', async () => {
  await using w = await world([TOGETHER]);
  const names = ['one', 'two', 'three', 'four', 'five'];
  for (const name of names) await w.moves.createSource('ConfigMap', name, { value: '1' });
  const envFrom = names.map((name) => ({ configMapRef: { name } }));
  const pod = { containers: [{ name: 'app', image: 'app', envFrom }] };
  await w.moves.create(DEPLOYMENT, 'many', { annotations: { 'reloader.stakater.com/auto': 'true' }, pod });
  for (const name of names) await w.moves.setData('ConfigMap', name, { value: '2' });
  await untilMarked(w.audit, DEPLOYMENT, 'many', { value: '2' });
  await w.fence();
  const marks = JSON.stringify(w.audit.latest(DEPLOYMENT, 'many')).match(/STAKATER_[A-Z]+_CONFIGMAP"/g) ?? [];
  expect([w.audit.templates(DEPLOYMENT, 'many').length - 1, new Set(marks).size]).toEqual([1, 5]);
});

test.concurrent('a change costs one PATCH and at most one Event, and no reading', async () => {
  const shop = await namespace('cost');
  const moves = movesIn(shop);
  const proxy = await faultProxy();
  const names = Array.from({ length: 10 }, (_, n) => `web-${n}`);
  await moves.createSource('ConfigMap', 'app', { value: '1' });
  for (const name of names) await moves.createUser(name, 'app');
  await using audit = await Audit.of(shop, [DEPLOYMENT, 'Event']);
  await using _controller = await startController({
    home: await namespace('cost-home'),
    access: proxy.access,
    flags: [`--namespaces=${shop}`, '--quiet-period=0'],
  });
  const waitForAll = async (value: string) => {
    await moves.setData('ConfigMap', 'app', { value });
    for (const name of names) await untilMarked(audit, DEPLOYMENT, name, { value });
  };
  await waitForAll('2');
  await untilCalm(audit, moves);
  const told = () => audit.all('Event').filter((event) => event['reason'] === 'Reloaded');
  await audit.until('the Events of what was before', () => told().length > names.length);
  proxy.resetCounts();
  await waitForAll('3');
  const reads = [...proxy.counts].filter(([call]) => call.startsWith('list') || call.startsWith('get'));
  expect(reads).toEqual([]);
  expect(proxy.counts.get('patch deployments')).toBe(names.length);
  expect(proxy.counts.get('create events') ?? 0).toBeLessThanOrEqual(names.length);
});

test.concurrent('a leader that was frozen between deciding and writing changes nothing', async () => {
  const shop = await namespace('frozen');
  const own = await namespace('frozen-home');
  const moves = movesIn(shop);
  await moves.createSource('ConfigMap', 'web', { value: '1' });
  await moves.createUser('web', 'web');
  await using audit = await Audit.of(shop, [DEPLOYMENT, 'ConfigMap']);
  const proxy = await faultProxy();
  const replica = (pod: string, access = controlPlane() as typeof proxy.access) =>
    startController({
      home: own,
      access,
      flags: ['--enable-ha', `--namespaces=${shop}`, '--quiet-period=0'],
      env: { POD_NAME: pod },
    });
  await using old = await replica('old', proxy.access);
  await old.untilLine(/became leader/);
  await using young = await replica('young');
  // Its PATCH is held up on the way; while it waits for the answer, it is frozen and succeeded.
  // Longer than a Lease lasts, and shorter than a request may.
  proxy.setRules([{ fault: { type: 'delay', ms: 25_000 }, verbs: ['patch'], path: /deployments/, times: 1 }]);
  await moves.setData('ConfigMap', 'web', { value: '2' });
  await until(() => (proxy.counts.get('patch deployments') ?? 0) > 0, { what: 'the PATCH is on its way' });
  old.freeze();
  await young.untilLine(/became leader/);
  await untilMarked(audit, DEPLOYMENT, 'web', { value: '2' });
  old.thaw();
  await moves.setData('ConfigMap', 'web', { value: '3' });
  await untilMarked(audit, DEPLOYMENT, 'web', { value: '3' });
  const refused = { code: '409', method: 'PATCH' };
  await until(async () => ((await old.metric('rest_client_requests_total', refused)) ?? 0) > 0, {
    what: 'the late PATCH is refused',
  });
  expect(audit.templates(DEPLOYMENT, 'web')).toHaveLength(3);
  expect((await old.ask('/live')).status).toBe(200);
});
