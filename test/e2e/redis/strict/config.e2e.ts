import { expect, it } from 'vitest';
import { until } from '../../../support/wait.ts';
import { RedisWorld } from '../redis-world.ts';
import { CommandLog, INFO, passed, said, startAll, strictCluster } from './strict-pods.ts';

const world = await RedisWorld.create('redis-strict-config');
const CLEAR = 'CONFIG SET masterauth (redacted)';

it('C1, C2, C3, C4, C5 every key is set by a command of its own in each pass, and told; those of the start are left out', async () => {
  const cluster = await strictCluster(world);
  const node = cluster.node(0);
  await startAll(cluster);
  const log = await CommandLog.of(node);

  // C4: where nothing is asked for, and where something is refused, there is nothing to tell.
  await passed(cluster, node);
  await cluster.spec({ redis: { hz: 'many' } });
  await passed(cluster, node);
  expect(said(node, /config could not be reconciled.*many|config could not be reconciled.*hz/)).toBeGreaterThan(0);
  expect(await cluster.reasons()).toEqual([]);

  const live = {
    maxmemory: '100mb',
    'maxmemory-policy': 'allkeys-lru',
    save: '100 1 50 20',
    'tcp-keepalive': '77',
    timeout: '300',
  };
  const startOnly = { bind: '127.0.0.1', databases: '7', port: '7777', 'tls-port': '7778', unixsocket: '/tmp/other' };
  const before = await Promise.all(Object.keys(startOnly).map((key) => node.config(key)));
  await cluster.spec({ redis: { hz: null, ...live, ...startOnly } });
  await passed(cluster, node);
  for (const [key, value] of Object.entries({ ...live, maxmemory: '104857600' }))
    expect(await node.config(key), key).toBe(value);
  expect(await Promise.all(Object.keys(startOnly).map((key) => node.config(key)))).toEqual(before);
  const event = await cluster.untilEvent('ConfigReloaded', new RegExp(node.name));
  expect(event).toMatchObject({ type: 'Normal' });

  // In each pass, though nothing has changed, and whatever Redis has meanwhile.
  await node.send('CONFIG', 'SET', 'tcp-keepalive', '11');
  await log.quiet();
  await cluster.annotate({ colour: 'green' });
  const sets = Object.entries(live).map(([key, value]) => `CONFIG SET ${key} ${value}`);
  expect(await log.pass()).toEqual([INFO, ...sets, CLEAR, INFO]);
  expect(await node.config('tcp-keepalive')).toBe('77');
  const again = async () => (await cluster.untilEvent('ConfigReloaded'))['count'] > event['count'];
  await until(again, { what: 'the Event once more' });

  // C2: with nothing but keys of the start nothing is set.
  await cluster.spec({ redis: Object.fromEntries(Object.keys(live).map((key) => [key, null])) });
  await passed(cluster, node);
  await log.clear();
  await passed(cluster, node);
  expect(new Set(await log.words())).toEqual(new Set([INFO, CLEAR]));
});
