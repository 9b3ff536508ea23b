import { expect, it } from 'vitest';
import { until } from '../../../support/wait.ts';
import { auditOf, RedisWorld } from '../redis-world.ts';
import { isMarked, mark, passCount, passed, said, startAll, strictCluster, untilSaid } from './strict-pods.ts';

const world = await RedisWorld.create('redis-strict-fence');
const KEY = 'redis.io/fencedInstances';

it('F1, F2, F3, F4 whoever is named is stopped by one SIGINT and does nothing more, until it is named no longer', async () => {
  const cluster = await strictCluster(world);
  const node = cluster.node(0);
  await startAll(cluster);
  await node.send('SET', 'colour', 'green');
  expect((await node.ask('/readyz')).status).toBe(200);
  const patches = () =>
    auditOf(`system:serviceaccount:${cluster.namespace}:${cluster.name}`).filter(({ verb }) => verb === 'patch').length;
  const before = await until(() => patches() || undefined, { what: 'the first write in the audit log' });
  await cluster.patch({
    metadata: { annotations: { [KEY]: JSON.stringify(['somebody-else', node.name]) } },
    spec: { redis: { hz: '12' } },
  });
  await cluster.status({ ...mark(node), currentPrimary: 'nobody' });
  await until(() => node.servers.length === 0, { what: 'Redis stopped' });
  await untilSaid(node, /level=info.*Pod is fenced, stopping redis-server/);
  await untilSaid(node, /Received SIGINT scheduling shutdown/);
  await untilSaid(node, /Redis is now ready to exit, bye bye/);

  // Further passes while it is fenced.
  const count = await passCount(node);
  await cluster.annotate({ colour: 'green' });
  await until(async () => (await passCount(node)) > count, { what: 'another pass' });
  const event = await cluster.untilEvent('InstanceFenced', new RegExp(node.name));
  expect(event).toMatchObject({ type: 'Warning', count: 1, involvedObject: { kind: 'RedisCluster' } });
  expect(await cluster.reasons()).toEqual(['InstanceFenced']);
  expect(await isMarked(cluster, node)).toBe(true);
  expect(await cluster.entry(node.name)).toMatchObject({ role: 'master', connected: true });
  expect(patches()).toBe(before);
  expect(said(node, /Pod is fenced, stopping redis-server/)).toBe(1);
  expect(said(node, /SIGINT|insist/)).toBe(1);
  expect(said(node, /pass failed/)).toBe(0);
  expect((await node.ask('/readyz')).status).toBe(503);
  expect((await node.ask('/healthz')).status).toBe(200);

  // An agent that begins while its pod is fenced starts nothing.
  await node.signal('SIGKILL');
  node.start();
  await until(async () => (await passCount(node)) > 0, { what: 'a pass of the next agent' });
  expect(node.servers).toEqual([]);

  await cluster.status({ currentPrimary: node.name });
  await cluster.fence();
  await until(async () => !(await isMarked(cluster, node)), { what: 'a whole pass' });
  expect(await node.send('GET', 'colour')).toBe('green');
  expect(await node.config('hz')).toBe('12');
  expect((await node.ask('/readyz')).status).toBe(200);
  expect(await cluster.reasons()).toContain('InstanceFenced');
});

it('F1, F5 only the own name counts', async () => {
  const cluster = await strictCluster(world);
  const node = cluster.node(0);
  await startAll(cluster);
  const { servers } = node;
  for (const names of [[], ['another-0'], [`${node.name}0`, node.name.slice(0, -1)], ['*']]) {
    await cluster.annotate({ [KEY]: JSON.stringify(names) });
    await passed(cluster, node);
  }
  expect(node.servers).toEqual(servers);
  expect(await node.send('SET', 'colour', 'green')).toBe('OK');
  expect(await cluster.reasons()).toEqual([]);
});
