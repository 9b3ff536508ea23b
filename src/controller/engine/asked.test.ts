import { describe, expect, test } from 'vitest';
import { APP, setUp, source, WEB, web } from '../../../test/support/engine-world.ts';
import { settings } from '../../../test/support/settings.ts';
import { parseReloaderConfig } from '../../domain/reloader-config/parse-config.ts';
import { ReloaderConfigs } from '../../model/reloader-configs/reloader-configs.ts';

const config = (version: number, names: readonly string[], more: object = {}) =>
  parseReloaderConfig(
    {
      metadata: {
        ...{ name: 'main', namespace: 'shop', uid: 'c', generation: version },
        ...{ resourceVersion: String(version), creationTimestamp: '2026-01-01T11:00:00Z' },
      },
      spec: { watchedResources: { configMaps: names }, targets: [{ kind: 'Deployment', name: 'web' }], ...more },
    } as never,
    'ignore',
  );

/** A workload without annotations that asks for nothing, and a source. */
function silentWorld(released: (key: string) => void = () => {}) {
  const configs = new ReloaderConfigs(settings([]));
  const scheduled = new Map<string, number>();
  const queue = {
    schedule: (key: string, at: number) => void scheduled.set(key, at),
    release(key: string) {
      released(key);
      return true;
    },
    remove: (key: string) => void scheduled.delete(key),
  };
  const world = { ...setUp({ configs, queue }), scheduled };
  world.sources.put(source('A', 5), false);
  world.engine.workloadSeen(web(6, { annotations: { 'reloader.stakater.com/auto': '' } }), 'list');
  world.engine.begin();
  const ask = (version: number, isListed = false, names: readonly string[] = ['app'], more: object = {}) =>
    world.engine.asksChanged(configs.put(config(version, names, more)), version, isListed);
  const drop = (version: number) =>
    world.engine.asksChanged(configs.remove({ namespace: 'shop', name: 'main' }), version);
  return { ...world, ask, drop };
}

describe('a config that comes', () => {
  test('counts what changes after it, in whichever order the two arrive', () => {
    const configFirst = silentWorld();
    configFirst.ask(10);
    configFirst.put(source('B', 11));
    expect(configFirst.waits()).toEqual(['ConfigMap/app']);

    const changeFirst = silentWorld();
    changeFirst.put(source('B', 11));
    changeFirst.ask(10);
    expect(changeFirst.waits()).toEqual(['ConfigMap/app']);
  });

  test('counts nothing that changed before it, in whichever order the two arrive', () => {
    const changeFirst = silentWorld();
    changeFirst.put(source('B', 9));
    changeFirst.ask(10);
    expect(changeFirst.waits()).toEqual([]);

    const configFirst = silentWorld();
    configFirst.ask(10);
    configFirst.put(source('B', 9));
    expect(configFirst.waits()).toEqual([]);
    configFirst.put(source('C', 12));
    expect(configFirst.waits()).toEqual(['ConfigMap/app']);
  });

  test('by a listing: what is known to have changed after it counts, what nobody saw does not', () => {
    const seen = silentWorld();
    seen.put(source('B', 11));
    seen.ask(10, true);
    expect(seen.waits()).toEqual(['ConfigMap/app']);

    const unseen = silentWorld();
    unseen.ask(3, true);
    expect(unseen.waits()).toEqual([]);
  });
});

test('a config that goes, or asks for something else, takes what waits only for it along', () => {
  const world = silentWorld();
  world.ask(10);
  world.put(source('B', 11));
  world.ask(12, false, ['other']);
  expect(world.waits()).toEqual([]);
  world.ask(13);
  expect(world.waits()).toEqual([]);
  world.put(source('C', 14));
  world.drop(15);
  expect(world.waits()).toEqual([]);
  expect(world.index.isWanted({ ...APP, name: 'other' })).toBe(false);
  expect(world.scheduled.has(WEB)).toBe(true);
});

test('a change that waits for the end of a pausePeriod, or was refused, goes by what is asked for now', () => {
  const released: string[] = [];
  const world = silentWorld((key) => void released.push(key));
  world.ask(10);
  world.put(source('B', 11));
  const due = world.scheduled.get(WEB);
  // As reconcile does for the end of a pausePeriod.
  world.scheduled.set(WEB, world.clock.now() + 3_600_000);
  world.ask(12);
  expect(world.waits()).toEqual(['ConfigMap/app']);
  expect(world.scheduled.get(WEB)).toBe(due);
  expect(released).toContain(WEB);
});

describe.each([
  ['resourceSelector', { watchedResources: { resourceSelector: { matchLabels: { team: 'x' } } } }],
  ['matchLabels', { watchedResources: { configMaps: ['app'] }, matchLabels: { team: 'x' } }],
])('a source that only its labels make one that is asked for, by %s', (_, limits) => {
  const team = { team: 'x' };

  test.each(['unread', 'read'])('begins, %s until then, with what it holds as it gets them', (how) => {
    const world = silentWorld();
    if (how === 'unread') world.put({ ...source('A', 7), fingerprint: undefined });
    world.ask(10, false, [], limits);
    world.put({ ...source('A', 11), labels: team });
    expect(world.waits()).toEqual([]);
    world.put({ ...source('B', 12), labels: team });
    expect(world.waits()).toEqual(['ConfigMap/app']);
  });

  test('counts, if its data may have been written with them', () => {
    const world = silentWorld();
    world.put({ ...source('A', 7), fingerprint: undefined });
    world.ask(10, false, [], limits);
    world.put({
      ...source('B', 11),
      labels: team,
      editedAt: new Date(world.clock.wall()).toISOString().replace(/\.\d+/, ''),
    });
    expect(world.waits()).toEqual(['ConfigMap/app']);
  });

  test('counts as it is created, where that counts', () => {
    const world = silentWorld();
    world.ask(10, false, [], { ...limits, reloadOnCreate: true, reloadOnDelete: true });
    world.remove(APP, 11);
    world.put({ ...source('A', 12), labels: team }, true);
    expect(world.waits()).toEqual(['ConfigMap/app']);
  });
});

test('an annotation that comes counts in the same way', () => {
  const world = silentWorld();
  world.engine.workloadSeen(web(10), 'watch');
  world.put(source('B', 9));
  expect(world.waits()).toEqual([]);
});

test('a template that comes back may bring pods from before: who asks changes nothing about that', () => {
  const world = setUp();
  const silent = { annotations: { 'reloader.stakater.com/auto': '' } };
  world.sources.put(source('A', 5), false);
  world.engine.begin();
  world.engine.workloadSeen(web(6, { ...silent, rolledOut: true }), 'watch');
  world.put(source('B', 7));
  // Its rollout does not complete: pods of the first template are left, with A.
  world.engine.workloadSeen(web(8, { ...silent, image: 'v2', revision: 2, rolledOut: false }), 'watch');
  world.engine.workloadSeen(web(10, { image: 'v2', revision: 2, rolledOut: false }), 'watch');
  world.engine.workloadSeen(web(12, { image: 'v1', revision: 3, rolledOut: false }), 'watch');
  expect(world.waits()).toEqual(['ConfigMap/app']);
});
