import { expect, onTestFinished, test } from 'vitest';
import { setUp, source, web } from '../../../test/support/engine-world.ts';
import { eventually } from '../../../test/support/eventually.ts';
import { type Exchange, listOf } from '../../../test/support/scripted-api.ts';
import { startClient } from '../../../test/support/scripted-client.ts';
import { settings } from '../../../test/support/settings.ts';
import { Reflector } from '../../kube/watch/reflector.ts';
import { ReloaderConfigs } from '../../model/reloader-configs/reloader-configs.ts';
import { followConfigs } from './configs.ts';
import type { FollowDeps } from './subscriptions.ts';
import type { Subscription } from './watches.ts';

const MAIN = {
  metadata: { name: 'main', namespace: 'shop', uid: 'c', generation: 1, resourceVersion: '8' },
  spec: { watchedResources: { configMaps: ['app'] }, targets: [{ kind: 'Deployment', name: 'web' }] },
};

/** A workload that nobody but a config asks anything for, and a server whose listings and watches end when the test says so. */
async function followed() {
  const configs = new ReloaderConfigs(settings([]));
  const world = setUp({ configs });
  world.sources.put(source('A', 5), false);
  world.engine.workloadSeen(web(6, { annotations: { 'reloader.stakater.com/auto': '' } }), 'list');
  world.engine.begin();
  let items: readonly object[] | undefined = [MAIN];
  let watch: Exchange | undefined;
  const { client } = await startClient((exchange) => {
    if (exchange.verb === 'watch' && items) {
      watch = exchange;
      exchange.write('');
    } else if (items) exchange.json(200, listOf(items, '10'));
    else exchange.status(404, 'NotFound', 'the server could not find the requested resource');
  });
  const stop = new AbortController();
  let listings = 0;
  let running: Promise<void> | undefined;
  const watches = {
    async followOnceServed<T>({ resource, digest, onEvent }: Subscription<T>) {
      const scope = {};
      const reflector = new Reflector<T>(client, resource, scope, { digest, random: () => 0 });
      running = reflector.run(stop.signal, (event) => {
        onEvent(event, scope);
        if (event.type === 'synced') listings += 1;
      });
    },
  };
  const statuses = { configSeen() {}, configGone() {}, asksChanged() {} };
  const parts = { ...{ configs, statuses, watches }, engine: world.engine, options: settings([]), signal: stop.signal };
  await followConfigs({ ...parts, definition: { read: async () => {} } } as unknown as FollowDeps, [{}]);
  onTestFinished(() => {
    stop.abort();
    return running;
  });
  /** What a server says to a watch reaches only one that has begun. */
  const listedAndWatched = (least: number) => eventually(() => listings >= least && watch !== undefined).toBe(true);
  await listedAndWatched(1);
  return {
    ...world,
    /** Its next listing has these; undefined: it does not know the kind. */
    async serves(next: readonly object[] | undefined) {
      const before = listings;
      items = next;
      watch?.event('ERROR', { kind: 'Status', status: 'Failure', code: 410, reason: 'Expired' });
      watch = undefined;
      if (next) await listedAndWatched(before + 1);
      else await eventually(() => [...configs.values()]).toEqual([]);
    },
  };
}

test('a server that does not know the kind for a moment: configs come back as they were, and what changed meanwhile counts', async () => {
  const world = await followed();
  world.put(source('B', 11));
  expect(world.waits()).toEqual(['ConfigMap/app']);
  await world.serves(undefined);
  expect(world.waits()).toEqual([]);
  await world.serves([MAIN]);
  expect(world.waits()).toEqual([]);
  await world.serves(undefined);
  world.put(source('C', 12));
  expect(world.waits()).toEqual([]);
  await world.serves([MAIN]);
  expect(world.waits()).toEqual(['ConfigMap/app']);
});

test('a definition that was removed and is installed again: nothing comes back by itself, and nothing rolls', async () => {
  const world = await followed();
  await world.serves(undefined);
  world.put(source('B', 11));
  await world.serves([]);
  const again = { ...MAIN, metadata: { ...MAIN.metadata, uid: 'd', resourceVersion: '12' } };
  await world.serves([again]);
  expect(world.waits()).toEqual([]);
  world.put(source('C', 13));
  expect(world.waits()).toEqual(['ConfigMap/app']);
});
