import { describe, expect, test } from 'vitest';
import { parsed, source, webObject } from '../../../test/support/engine-world.ts';
import { conditionOf, settledWorld, shownOf, statusWorld, WEB_SPEC } from '../../../test/support/status-world.ts';
import type { ConfigTargetStatus } from '../../api/reloader-config/status-fields.ts';

const MINUTE_MS = 60_000;

describe('what is written', () => {
  test('a new config is told at once, by server-side apply with the version that is known', async () => {
    const world = await settledWorld();
    const [write, ...more] = world.writes();
    expect(more).toEqual([]);
    expect(write?.path).toBe('/apis/reloader.stakater.com/v1alpha1/namespaces/shop/reloaderconfigs/main/status');
    expect(write?.headers['content-type']).toBe('application/apply-patch+yaml');
    expect(Object.fromEntries(write?.query ?? [])).toEqual({ fieldManager: 'attune', force: 'true' });
    expect(JSON.parse(write?.body ?? '')).toMatchObject({
      apiVersion: 'reloader.stakater.com/v1alpha1',
      kind: 'ReloaderConfig',
      metadata: { namespace: 'shop', name: 'main', resourceVersion: '101' },
    });
    expect(world.status()).toMatchObject({
      ...{ observedGeneration: 1, reloadCount: 0, targetCount: 1, watchedResourceCount: 1 },
      watchedResourceHashes: shownOf('A'),
      targetStatus: [{ name: 'web', reloadStrategy: 'env-vars', rolloutStrategy: 'rollout' }],
    });
    expect(conditionOf(world.status(), 'Available')).toMatchObject({ status: 'True' });
    await world.end();
  });

  test('nothing, as long as there is nothing new to say', async () => {
    const world = await settledWorld();
    world.bring('main');
    for (const version of [11, 12, 13]) {
      world.workload(version);
      world.put(source('A', version + 10));
      await world.pass(MINUTE_MS);
    }
    await world.nextTerm();
    await world.pass(MINUTE_MS);
    expect(world.writes()).toHaveLength(1);
    await world.end();
  });

  test('200 changes in ten seconds are three writes at most, and the last is true', async () => {
    const world = await settledWorld();
    await world.pass(10_000);
    for (let at = 1; at <= 200; at += 1) {
      world.put(source(`data-${at}`, 100 + at));
      await world.pass(50);
    }
    expect(world.writes().length - 1).toBeLessThanOrEqual(3);
    world.outcome('rolled');
    await world.pass(MINUTE_MS);
    expect(world.writes().length - 1).toBeLessThanOrEqual(4);
    expect(world.status()).toMatchObject({
      watchedResourceHashes: shownOf('data-200'),
      reloadCount: 1,
    });
    expect(conditionOf(world.status(), 'Progressing')).toMatchObject({ status: 'False' });
    await world.end();
  });

  test('a reload is told within a second, and 200 of them in ten seconds once a second', async () => {
    const world = await settledWorld();
    await world.pass(MINUTE_MS);
    const before = world.writes().length;
    const reload = (at: number): void => {
      world.put(source(`data-${at}`, 100 + at));
      world.outcome('rolled');
    };
    reload(0);
    await world.pass(200);
    expect(world.status()).toMatchObject({ reloadCount: 1, targetStatus: [{ reloadCount: 1 }] });
    expect(world.status().lastReloadTime).toBeDefined();
    expect(world.writes()).toHaveLength(before + 1);
    reload(1);
    await world.pass(1000);
    expect(world.status()).toMatchObject({ reloadCount: 2 });
    expect(world.writes()).toHaveLength(before + 2);
    for (let at = 2; at < 202; at += 1) {
      reload(at);
      await world.pass(50);
    }
    expect(world.writes().length - before - 2).toBeLessThanOrEqual(11);
    await world.pass(1000);
    expect(world.status()).toMatchObject({ reloadCount: 202, watchedResourceHashes: shownOf('data-201') });
    const { length } = world.writes();
    await world.pass(MINUTE_MS);
    expect(world.writes()).toHaveLength(length);
    await world.end();
  });

  test('a reload of each of two targets is told within a second, though the change counts once', async () => {
    const world = await settledWorld();
    const object = webObject(20, { uid: 'api' });
    world.engine.workloadSeen(parsed({ ...object, metadata: { ...object.metadata, name: 'api' } }), 'watch');
    world.apply({ ...WEB_SPEC, targets: [...WEB_SPEC.targets, { kind: 'Deployment', name: 'api' }] });
    await world.pass(MINUTE_MS);
    world.put(source('B', 100));
    world.outcome('rolled');
    await world.pass(200);
    expect(world.status()).toMatchObject({ reloadCount: 1, targetStatus: [{ reloadCount: 1 }, { reloadCount: 0 }] });
    world.outcome('rolled', '', 'Deployment/shop/api');
    await world.pass(1100);
    expect(world.status()).toMatchObject({ reloadCount: 1, targetStatus: [{ reloadCount: 1 }, { reloadCount: 1 }] });
    await world.end();
  });

  test('counts that somebody else writes are put right, and not once a second', async () => {
    const world = await settledWorld();
    await world.pass(MINUTE_MS);
    const before = world.writes().length;
    for (let at = 0; at < 100; at += 1) {
      world.apply(WEB_SPEC, 'main', { status: { ...world.status(), reloadCount: 1000 + at } });
      await world.pass(100);
    }
    expect(world.writes().length - before).toBeLessThanOrEqual(3);
    await world.pass(MINUTE_MS);
    expect(world.status()).toMatchObject({ reloadCount: 0 });
    await world.end();
  });

  test('a new spec is told at once, and edits in a row are not', async () => {
    const world = await settledWorld();
    await world.pass(MINUTE_MS);
    for (let at = 0; at < 20; at += 1) {
      world.apply({ ...WEB_SPEC, reloadStrategy: at % 2 === 0 ? 'annotations' : 'env-vars' });
      await world.pass(100);
      if (at === 1) expect(world.writes()).toHaveLength(2);
    }
    expect(world.writes()).toHaveLength(2);
    await world.pass(10_000);
    expect(world.writes()).toHaveLength(3);
    expect(world.status()).toMatchObject({ observedGeneration: 21, targetStatus: [{ reloadStrategy: 'env-vars' }] });
    await world.end();
  });

  test('no fields that the installed definition does not have', async () => {
    const world = await settledWorld({ pruned: () => ['status.targetCount', 'status.targetStatus[].reloadStrategy'] });
    expect(world.status()).not.toHaveProperty('targetCount');
    expect(world.status().targetStatus?.[0]).not.toHaveProperty('reloadStrategy');
    expect(world.status()).toHaveProperty('watchedResourceCount');
    await world.pass(MINUTE_MS);
    expect(world.writes()).toHaveLength(1);
    await world.end();
  });

  test('digests that another program left are taken away once, for they have no key', async () => {
    const world = await settledWorld({ left: { 'shop/Secret/old': 'plain' } });
    expect(world.status().watchedResourceHashes).toEqual(shownOf('A'));
    expect(world.writes()).toHaveLength(2);
    world.bring('main');
    await world.pass(MINUTE_MS);
    expect(world.writes()).toHaveLength(2);
    await world.end();
  });

  test('where that program writes them again and again, that is no reason for us to', async () => {
    const world = await settledWorld({ left: { 'shop/Secret/old': 'plain' }, isLasting: true });
    world.bring('main');
    world.put(source('A', 300));
    world.workload(301);
    await world.pass(MINUTE_MS);
    expect(world.writes()).toHaveLength(2);
    world.put(source('B', 302));
    await world.pass(MINUTE_MS);
    expect(world.writes()).toHaveLength(3);
    await world.end();
  });
});

describe('Available and Degraded are told at once', () => {
  test('a source that goes and comes', async () => {
    const world = await settledWorld();
    await world.pass(MINUTE_MS);
    world.remove(200);
    await world.pass(200);
    expect(conditionOf(world.status(), 'Degraded')).toMatchObject({
      ...{ status: 'True', reason: 'ResourceNotFound' },
      message: 'spec.watchedResources.configMaps: ConfigMap "app" does not exist in namespace "shop"',
    });
    expect(world.statuses.counts()).toEqual({ degraded: 1, fine: 0 });
    world.put(source('B', 201), true);
    await world.pass(1200);
    expect(conditionOf(world.status(), 'Degraded')).toMatchObject({ status: 'False' });
    await world.end();
  });

  test('a source that comes before any target', async () => {
    const world = await statusWorld();
    world.engine.begin();
    world.apply(WEB_SPEC);
    await world.pass(2000);
    expect(conditionOf(world.status(), 'Degraded')?.message).toMatch(/ConfigMap "app" does not/);
    world.put(source('A', 50), true);
    await world.pass(6000);
    expect(conditionOf(world.status(), 'Degraded')).toMatchObject({
      reason: 'TargetNotFound',
      message: expect.not.stringContaining('ConfigMap'),
    });
    world.workload(60);
    await world.pass(200);
    expect(conditionOf(world.status(), 'Degraded')).toMatchObject({ status: 'False' });
    await world.end();
  });

  test('a reload that fails, until one does not', async () => {
    const world = await settledWorld();
    await world.pass(MINUTE_MS);
    world.put(source('B', 200));
    world.outcome('refused', 'the quota is used up');
    await world.pass(200);
    expect(conditionOf(world.status(), 'Degraded')).toMatchObject({ status: 'True', reason: 'ReloadFailed' });
    expect(world.status().targetStatus).toMatchObject([{ lastError: 'the quota is used up', reloadCount: 0 }]);
    world.outcome('rolled');
    await world.pass(2000);
    expect(conditionOf(world.status(), 'Degraded')).toMatchObject({ status: 'False' });
    expect(world.status().targetStatus?.[0]).not.toHaveProperty('lastError');
    await world.end();
  });

  test('a reload that failed is told until what waited is there or no longer wanted, and not of the next change', async () => {
    const world = await settledWorld();
    await world.pass(MINUTE_MS);
    world.put(source('B', 200));
    world.outcome('refused', 'the quota is used up');
    await world.pass(200);
    expect(conditionOf(world.status(), 'Degraded')).toMatchObject({ reason: 'ReloadFailed' });
    world.put(source('C', 201));
    await world.pass(6000);
    expect(conditionOf(world.status(), 'Degraded')).toMatchObject({ reason: 'ReloadFailed' });
    world.put(source('A', 202));
    await world.pass(6000);
    world.put(source('D', 203));
    await world.pass(6000);
    expect(conditionOf(world.status(), 'Progressing')).toMatchObject({ reason: 'ReloadPending' });
    expect(conditionOf(world.status(), 'Degraded')).toMatchObject({ status: 'False' });
    world.outcome('refused', 'the quota is still used up');
    await world.pass(2000);
    expect(conditionOf(world.status(), 'Degraded')).toMatchObject({ reason: 'ReloadFailed' });
    await world.end();
  });

  test('what goes back and forth is not written each time', async () => {
    const world = await settledWorld();
    await world.pass(MINUTE_MS);
    for (let at = 0; at < 20; at += 1) {
      world.remove(200 + 2 * at);
      await world.pass(100);
      world.put(source('A', 201 + 2 * at), true);
      await world.pass(100);
    }
    expect(world.writes().length).toBeLessThanOrEqual(6);
    await world.end();
  });
});

describe('who leads', () => {
  test('a standby writes nothing, and goes on with the counts of the leader before it', async () => {
    const leader = { isUs: false };
    const world = await settledWorld({ mayWrite: () => leader.isUs });
    await world.pass(MINUTE_MS);
    expect(world.writes()).toEqual([]);
    const target: ConfigTargetStatus = { kind: 'Deployment', namespace: 'shop', name: 'web', reloadCount: 7 };
    world.apply(WEB_SPEC, 'main', { status: { reloadCount: 8, targetStatus: [target] } });
    leader.isUs = true;
    await world.nextTerm();
    await world.pass(200);
    world.put(source('B', 200));
    world.outcome('rolled');
    await world.pass(10_000);
    expect(world.status()).toMatchObject({ reloadCount: 9, targetStatus: [{ reloadCount: 8 }] });
    await world.end();
  });

  test('one that was frozen writes over nothing: it waits for the watch', async () => {
    const world = await settledWorld();
    const known = world.stored.get('main');
    if (!known) throw new Error('no config');
    const metadata = { ...known.metadata, resourceVersion: '500' };
    world.stored.set('main', { ...known, metadata, status: { ...known.status, reloadCount: 3 } });
    world.put(source('B', 200));
    await world.pass(10 * MINUTE_MS);
    expect(world.status()).toMatchObject({ reloadCount: 3, watchedResourceHashes: shownOf('A') });
    world.bring('main');
    await world.pass(200);
    expect(world.status()).toMatchObject({ watchedResourceHashes: shownOf('B') });
    expect(world.told).toEqual([]);
    await world.end();
  });

  test('the config of a namespace that is not ours is left to others', async () => {
    const world = await settledWorld({ inScope: () => false });
    await world.pass(MINUTE_MS);
    expect(world.writes()).toEqual([]);
    await world.end();
  });

  test('what is refused is said, and the others are written', async () => {
    const world = await settledWorld({
      answer: (exchange) => {
        if (!exchange.path.includes('/main/')) return false;
        exchange.status(403, 'Forbidden');
        return true;
      },
    });
    world.apply(WEB_SPEC, 'other');
    await world.pass(200);
    expect(world.told).toEqual(['403']);
    expect(conditionOf(world.status('other'), 'Available')).toMatchObject({ status: 'True' });
    await world.end();
  });
});

describe('two configs for one workload', () => {
  test('one rollout counts for both, and the younger says whose strategies count', async () => {
    const world = await settledWorld({}, { ...WEB_SPEC, reloadStrategy: 'annotations' });
    world.apply(WEB_SPEC, 'younger');
    world.put(source('B', 200));
    world.outcome('rolled');
    await world.pass(10_000);
    expect(world.status()).toMatchObject({ reloadCount: 1, targetStatus: [{ reloadStrategy: 'annotations' }] });
    expect(world.status().targetStatus?.[0]).not.toHaveProperty('decidedBy');
    expect(world.status('younger')).toMatchObject({
      reloadCount: 1,
      targetStatus: [{ decidedBy: 'ReloaderConfig shop/main', reloadStrategy: 'annotations', reloadCount: 1 }],
    });
    await world.end();
  });

  test('one that does not want the source has no part in it', async () => {
    const world = await settledWorld();
    world.apply({ ...WEB_SPEC, watchedResources: { secrets: ['key'] } }, 'other');
    world.put(source('B', 200));
    world.outcome('rolled');
    await world.pass(10_000);
    expect(world.status('other')).toMatchObject({ reloadCount: 0, targetStatus: [{ reloadCount: 0 }] });
    expect(world.status('other').targetStatus?.[0]).not.toHaveProperty('decidedBy');
    expect(conditionOf(world.status('other'), 'Degraded')?.message).toContain('Secret "key"');
    await world.end();
  });
});

test('a config that is gone is written no more, and one of the same name is another', async () => {
  const world = await settledWorld();
  world.stored.delete('main');
  world.configs.remove({ namespace: 'shop', name: 'main' });
  world.statuses.configGone({ namespace: 'shop', name: 'main' });
  world.put(source('B', 200));
  await world.pass(10_000);
  expect(world.writes()).toHaveLength(1);
  world.apply({ ...WEB_SPEC, watchedResources: { secrets: ['key'] } });
  await world.pass(200);
  expect(world.status()).toMatchObject({ watchedResourceCount: 0 });
  await world.end();
});
