import { expect, it } from 'vitest';
import { loopbackAddress, startRedis } from '../../../support/redis-process.ts';
import { until } from '../../../support/wait.ts';
import type { RedisNode } from '../redis-node.ts';
import { RedisWorld, type TestCluster } from '../redis-world.ts';
import { AT_ONCE, CommandLog, passed, replication, startAll, strictCluster, untilSaid } from './strict-pods.ts';

const world = await RedisWorld.create('redis-strict-role');
const roleCommands = async (log: CommandLog) => (await log.words()).filter((words) => words.startsWith('REPLICAOF'));

/** An Event says who, and whom it follows. */
async function expectEvent(cluster: TestCluster, reason: string, node: RedisNode, upstream = ''): Promise<void> {
  expect(await cluster.untilEvent(reason, new RegExp(`${node.name}.*${upstream}`))).toMatchObject({ type: 'Normal' });
}

it('R6, R7, R8, R9, R10 standard mode: primary is who is named, and the others follow its address on port 6379', async () => {
  const cluster = await strictCluster(world, { pods: 2 });
  const [first, second] = [cluster.node(0), cluster.node(1)];
  // The replica is there before its primary, which begins with nothing.
  second.start();
  await cluster.until(second.name, ({ role }) => role === 'slave', 'replica');
  first.start();
  await cluster.until(first.name, ({ role }) => role === 'master', 'primary');
  await first.send('CONFIG', 'SET', ...AT_ONCE);
  const log = await CommandLog.of(second);
  const logOfFirst = await CommandLog.of(first);

  // R9, R10: all is as it should be.
  await Promise.all(cluster.nodes.map((node) => passed(cluster, node)));
  expect(await replication(first)).toMatchObject({ role: 'master' });
  expect(await replication(second)).toMatchObject({ role: 'slave', master_host: first.address, master_port: '6379' });
  expect([...(await roleCommands(log)), ...(await roleCommands(logOfFirst))]).toEqual([]);
  expect(await cluster.reasons()).toEqual([]);

  // R8: the wrong one, by host or by port.
  await second.send('REPLICAOF', first.address, '1');
  await passed(cluster, second);
  await expectEvent(cluster, 'ReplicaReconfigured', second, `${first.address}:6379`);
  await second.send('REPLICAOF', '127.0.0.1', '6379');
  await passed(cluster, second);
  expect(await roleCommands(log)).toEqual(Array(2).fill(`REPLICAOF ${first.address} 6379`));
  expect(await replication(second)).toMatchObject({ master_host: first.address, master_port: '6379' });
  expect(await cluster.reasons()).toEqual(['ReplicaReconfigured']);

  // R7: a primary that should be none.
  await log.clear();
  await second.send('REPLICAOF', 'NO', 'ONE');
  await passed(cluster, second);
  await expectEvent(cluster, 'DemotedToReplica', second, `${first.address}:6379`);
  expect(await roleCommands(log)).toEqual([`REPLICAOF ${first.address} 6379`]);

  // R6, R7: another one is named.
  await until(async () => (await replication(second))['master_link_status'] === 'up', { what: 'the link' });
  await log.clear();
  await logOfFirst.clear();
  await cluster.status({ currentPrimary: second.name });
  await expectEvent(cluster, 'PromotedToPrimary', second);
  await expectEvent(cluster, 'DemotedToReplica', first, `${second.address}:6379`);
  await Promise.all(cluster.nodes.map((node) => passed(cluster, node)));
  expect(await roleCommands(log)).toEqual(['REPLICAOF NO ONE']);
  expect(await roleCommands(logOfFirst)).toEqual([`REPLICAOF ${second.address} 6379`]);
  expect(await replication(second)).toMatchObject({ role: 'master' });
  expect(await replication(first)).toMatchObject({ role: 'slave', master_host: second.address });
});

it('R7 where nobody is named, everybody is to follow nobody: the role fails for as long as that is so', async () => {
  const cluster = await strictCluster(world, { primary: '' });
  const node = cluster.node(0);
  node.start();
  await untilSaid(node, /pass failed/, 2);
  expect(await replication(node)).toMatchObject({ role: 'master' });
  expect(await cluster.entry(node.name)).toBeUndefined();
  await cluster.status({ currentPrimary: node.name });
  await cluster.until(node.name, ({ role }) => role === 'master', 'primary');
});

it('R1, R2, R3, R4, R5 replica mode: everybody follows the source, until the one that is named is to be promoted', async () => {
  const host = loopbackAddress();
  await using source = await startRedis({ host, directives: [['protected-mode', 'no'], AT_ONCE] });
  await source.send('SET', 'colour', 'green');
  const cluster = await strictCluster(world, { spec: { replicaMode: { enabled: true, source: { host } } } });
  const node = cluster.node(0);
  await startAll(cluster);

  // R1, R4, R5: it follows though it is named primary itself; there is nothing to do.
  const log = await CommandLog.of(node);
  await passed(cluster, node);
  expect(await replication(node)).toMatchObject({ role: 'slave', master_host: host, master_port: '6379' });
  await until(async () => (await node.send('GET', 'colour')) === 'green', { what: 'the data of the source' });
  expect(await roleCommands(log)).toEqual([]);
  expect(await cluster.reasons()).toEqual([]);

  // R3: another port, then another host; also from a primary.
  await cluster.spec({ replicaMode: { source: { port: 6380 } } });
  await expectEvent(cluster, 'ReplicaModeSourceUpdated', node, `${host}:6380`);
  await passed(cluster, node);
  await node.send('REPLICAOF', 'NO', 'ONE');
  await cluster.spec({ replicaMode: { source: { host: '127.0.0.1' } } });
  await expectEvent(cluster, 'ReplicaModeSourceUpdated', node, '127.0.0.1:6380');
  await passed(cluster, node);
  expect([...new Set(await roleCommands(log))]).toEqual([`REPLICAOF ${host} 6380`, 'REPLICAOF 127.0.0.1 6380']);

  // R5: to promote somebody else is not to promote this one.
  await log.clear();
  await cluster.status({ currentPrimary: 'another-0' });
  await cluster.spec({ replicaMode: { promote: true } });
  await passed(cluster, node);
  expect(await roleCommands(log)).toEqual([]);

  // R2
  await cluster.status({ currentPrimary: node.name });
  await expectEvent(cluster, 'ReplicaModePromoteRequested', node);
  await passed(cluster, node);
  expect(new Set(await roleCommands(log))).toEqual(new Set(['REPLICAOF NO ONE']));
  expect(await replication(node)).toMatchObject({ role: 'master' });
  expect(new Set(await cluster.reasons())).toEqual(
    new Set(['ReplicaModePromoteRequested', 'ReplicaModeSourceUpdated']),
  );
});
