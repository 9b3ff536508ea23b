import { beforeEach, describe, expect, test } from 'vitest';
import { faultProxy } from '../../support/proxy.ts';
import { sha1 } from '../../support/workloads.ts';
import { marksOf, untilMarked } from './moves.ts';
import { MODES, type Scene, scene } from './scene.ts';

const proxy = await faultProxy();
beforeEach(() => proxy.setRules([]));

const V1 = { value: '1' };
const V2 = { value: '2' };
const V3 = { value: '3' };
const MARK = 'app/STAKATER_APP_CONFIGMAP';

const through = (here: Scene) => ({ access: { ...here.stage.access, server: proxy.access.server } });
const rollouts = (here: Scene, name = 'web') => here.audit.templates('Deployment', name).length - 1;

async function prepared() {
  const here = await scene(['Event']);
  await here.createSource('ConfigMap', 'app', V1);
  await here.createUser('web', 'app');
  await here.createUser('other', 'app');
  return here;
}

/** The API server is there, and we cannot reach it. */
function outage(): void {
  proxy.setRules([{ fault: { type: 'status', code: 503 } }]);
  proxy.cutWatches();
}

describe.each(MODES)('14. %s', (mode) => {
  test('four conflicts, then success: one rollout', async () => {
    await using here = await prepared();
    const attune = await here.start([mode], through(here));
    const path = /\/deployments\/web/;
    proxy.setRules([{ fault: { type: 'status', code: 409 }, verbs: ['patch'], path, times: 4 }]);
    await here.setData('ConfigMap', 'app', V2);
    await untilMarked(here.audit, 'Deployment', 'web', V2);
    await here.fence.pass();
    expect(rollouts(here)).toBe(1);
    expect(await attune.metric('reloader_reload_executed_total', { success: 'false' })).toBe(0);
  });

  test('404 for what is still there: tried again, one rollout', async () => {
    await using here = await prepared();
    await here.start([mode], through(here));
    const path = /\/deployments\/web/;
    proxy.setRules([{ fault: { type: 'status', code: 404 }, verbs: ['patch'], path, times: 2 }]);
    await here.setData('ConfigMap', 'app', V2);
    await untilMarked(here.audit, 'Deployment', 'web', V2);
    await here.fence.pass();
    expect(rollouts(here)).toBe(1);
  });

  test('500 on one workload delays no other, is told, and ends when the server mends', async () => {
    await using here = await prepared();
    const attune = await here.start([mode], through(here));
    proxy.setRules([{ fault: { type: 'status', code: 500 }, verbs: ['patch'], path: /\/deployments\/other/ }]);
    await here.setData('ConfigMap', 'app', V2);
    await untilMarked(here.audit, 'Deployment', 'web', V2);
    const event = await here.audit.until('the Event', () =>
      here.audit.all('Event').find((each) => each['reason'] === 'ReloadFail'),
    );
    expect(event).toMatchObject({ type: 'Warning', involvedObject: { kind: 'Deployment', name: 'other' } });
    const what = `Update for 'other' of type 'Deployment' in namespace '${here.space}' failed with error `;
    expect(event['message'].startsWith(what)).toBe(true);
    expect(await attune.metric('reloader_reload_executed_total', { success: 'false' })).toBeGreaterThan(0);
    proxy.setRules([]);
    await untilMarked(here.audit, 'Deployment', 'other', V2);
    await here.fence.pass();
    expect(rollouts(here, 'other')).toBe(1);
  });

  test('403 when listing one kind: said once with the cure, and the others go on', async () => {
    await using here = await prepared();
    proxy.setRules([{ fault: { type: 'status', code: 403 }, verbs: ['list', 'watch'], path: /\/statefulsets/ }]);
    const attune = await here.start([mode], through(here));
    await here.setData('ConfigMap', 'app', V2);
    await untilMarked(here.audit, 'Deployment', 'web', V2);
    await here.fence.pass();
    const said = attune.lines.filter((line) => line.includes('statefulsets'));
    expect(said).toHaveLength(1);
    expect(said[0]).toContain('Failed to list statefulsets');
    expect(said[0]).toContain('grant list and watch on statefulsets.apps');
  });

  test('workloads may be listed and not watched: one that came later rolls for the first change, and for no other', async () => {
    await using here = await prepared();
    await here.createSource('ConfigMap', 'late', V1);
    proxy.setRules([{ fault: { type: 'status', code: 403 }, verbs: ['watch'], path: /\/deployments/ }]);
    await here.start([mode], through(here));
    await here.createUser('newcomer', 'late');
    await here.createSource('ConfigMap', 'young', V1);
    await here.createUser('unmoved', 'young');
    await here.setData('ConfigMap', 'late', V2);
    await untilMarked(here.audit, 'Deployment', 'newcomer', V2);
    await here.fence.pass();
    expect([rollouts(here, 'newcomer'), rollouts(here, 'unmoved'), rollouts(here)]).toEqual([1, 0, 0]);
  });

  test('a change missed by a broken watch is seen when it is listed again, once', async () => {
    await using here = await prepared();
    await here.start([mode], through(here));
    proxy.setRules([{ fault: { type: 'status', code: 503 }, verbs: ['watch', 'list'], path: /\/configmaps/ }]);
    proxy.cutWatches();
    await here.setData('ConfigMap', 'app', V2);
    await here.setData('ConfigMap', 'app', V3);
    proxy.setRules([{ fault: { type: 'expired-watch' }, verbs: ['watch'], path: /\/configmaps/, times: 1 }]);
    await untilMarked(here.audit, 'Deployment', 'web', V3);
    await here.fence.pass();
    expect(rollouts(here)).toBe(1);
  });

  test('a deletion missed by a broken watch is one deletion, of this object and no other', async () => {
    await using here = await prepared();
    await here.createSource('ConfigMap', 'second', V1);
    await here.createUser('unmoved', 'second');
    await here.start([mode, '--reload-on-delete=true'], through(here));
    await here.setData('ConfigMap', 'app', V2);
    await untilMarked(here.audit, 'Deployment', 'web', V2);
    proxy.setRules([{ fault: { type: 'status', code: 503 }, verbs: ['watch', 'list'], path: /\/configmaps/ }]);
    proxy.cutWatches();
    await here.deleteSource('ConfigMap', 'app');
    proxy.setRules([{ fault: { type: 'expired-watch' }, verbs: ['watch'], path: /\/configmaps/, times: 1 }]);
    await here.audit.until('the mark gone', () => {
      return Object.keys(marksOf('Deployment', here.audit.latest('Deployment', 'web'))).length === 0;
    });
    await here.fence.pass();
    expect([rollouts(here), rollouts(here, 'unmoved')]).toEqual([2, 0]);
  });

  test('what changes during an outage is applied afterwards, once', async () => {
    await using here = await prepared();
    await here.start([mode], through(here));
    outage();
    await here.setData('ConfigMap', 'app', V2);
    // Long enough for every retry that upstream would have made.
    const before = proxy.faults;
    await expect.poll(() => proxy.faults - before, { timeout: 30_000 }).toBeGreaterThan(8);
    proxy.setRules([]);
    await untilMarked(here.audit, 'Deployment', 'web', V2);
    await untilMarked(here.audit, 'Deployment', 'other', V2);
    await here.fence.pass();
    expect([rollouts(here), rollouts(here, 'other')]).toEqual([1, 1]);
  });

  test('a start during an outage waits, and does not take the change for the past', async () => {
    await using here = await prepared();
    const first = await here.start([mode], through(here));
    await here.fence.pass();
    await first.kill9();
    outage();
    await here.setData('ConfigMap', 'app', V2);
    const second = await here.start([mode], { ...through(here), untilReady: false });
    const before = proxy.faults;
    await expect.poll(() => proxy.faults - before, { timeout: 30_000 }).toBeGreaterThan(1);
    proxy.setRules([]);
    // Whoever starts it would start it again if it gave up: it need not survive, but must not lose anything.
    const third = await Promise.race([second.ended, untilMarked(here.audit, 'Deployment', 'web', V2).then(() => 'up')]);
    if (third !== 'up') await here.start([mode]);
    await untilMarked(here.audit, 'Deployment', 'web', V2);
    await here.fence.pass();
    expect(rollouts(here)).toBe(1);
  });

  test('an answer that was lost on the way is not written twice', async () => {
    await using here = await prepared();
    await here.start([mode], through(here));
    const path = /\/deployments\/web/;
    proxy.setRules([{ fault: { type: 'cut', afterBytes: 0 }, verbs: ['patch'], path, times: 2 }]);
    await here.setData('ConfigMap', 'app', V2);
    await untilMarked(here.audit, 'Deployment', 'web', V2);
    await here.fence.pass();
    expect(rollouts(here)).toBe(1);
    expect(marksOf('Deployment', here.audit.latest('Deployment', 'web'))).toEqual({ [MARK]: sha1(V2) });
  });
});

test('14. with strategy annotations a lost answer does not mean a second rollout either', async () => {
  await using here = await prepared();
  await here.start(['--compat=stakater', '--reload-strategy=annotations'], through(here));
  const path = /\/deployments\/web/;
  proxy.setRules([{ fault: { type: 'cut', afterBytes: 0 }, verbs: ['patch'], path, times: 1 }]);
  await here.setData('ConfigMap', 'app', V2);
  await untilMarked(here.audit, 'Deployment', 'web', V2);
  await here.fence.pass();
  expect(rollouts(here)).toBe(1);
});
