import { expect, it } from 'vitest';
import { until } from '../../../support/wait.ts';
import { auditOf, RedisWorld } from '../redis-world.ts';
import { AT_ONCE, CommandLog, passed, replication, startAll, strictCluster } from './strict-pods.ts';

const world = await RedisWorld.create('redis-strict-status');

it('ST1, ST2, ST3, ST4, ST5, ST6, ST7 each pod writes its own entry whole, and nobody else’s', async () => {
  const cluster = await strictCluster(world, { pods: 2 });
  const [first, second] = [cluster.node(0), cluster.node(1)];
  // ST7
  expect((await cluster.get())['status']).toEqual({ currentPrimary: first.name });
  await startAll(cluster);
  await first.send('CONFIG', 'SET', ...AT_ONCE);
  await until(async () => (await replication(second))['master_link_status'] === 'up', { what: 'the link' });
  await first.send('SET', 'colour', 'green');
  const inStep = async () =>
    (await replication(second))['slave_repl_offset'] === (await replication(first))['master_repl_offset'];
  await until(inStep, { what: 'the replica in step' });

  // ST1: what others have in an entry of ours goes; ST6: what they have beside it stays.
  const ghost = { role: 'slave', connected: false, lastSeenAt: '2026-01-31T12:00:00Z' };
  await cluster.status({ phase: 'Healthy', instancesStatus: { ghost } });
  await Promise.all(cluster.nodes.map((node) => passed(cluster, node)));
  const { status } = await cluster.get();
  const offset = Number((await replication(first))['master_repl_offset']);
  expect(offset).toBeGreaterThan(0);
  expect(status).toEqual({
    currentPrimary: first.name,
    phase: 'Healthy',
    instancesStatus: {
      ghost,
      [first.name]: { role: 'master', connected: true, replicationOffset: expect.any(Number), connectedReplicas: 1 },
      [second.name]: { role: 'slave', connected: true, replicationOffset: expect.any(Number), masterLinkStatus: 'up' },
    },
  });
  // ST4: by a few pings the entries may be behind by now.
  for (const { name } of cluster.nodes) {
    const { replicationOffset = 0 } = status.instancesStatus[name];
    expect(replicationOffset).toBeGreaterThan(0);
    expect(replicationOffset).toBeLessThanOrEqual(offset);
  }

  // ST1: after all changes, the role's among them; ST5: what a replica has not, goes.
  const log = await CommandLog.of(second);
  await log.quiet();
  await cluster.status({ currentPrimary: second.name });
  await cluster.until(second.name, ({ role }) => role === 'master', 'primary');
  expect(await log.words()).toContain('REPLICAOF NO ONE');
  await cluster.until(first.name, ({ role }) => role === 'slave', 'replica');
  await passed(cluster, first);
  expect(await cluster.entry(first.name)).not.toHaveProperty('connectedReplicas');
  expect(await cluster.entry(second.name)).not.toHaveProperty('masterLinkStatus');

  // ST6: through the subresource, and no write is ever refused because somebody else wrote meanwhile.
  const audit = auditOf(`system:serviceaccount:${cluster.namespace}:${cluster.name}`);
  const writes = audit.filter(({ verb, requestURI }) => verb !== 'get' && /redisclusters\/\w/.test(requestURI));
  expect(writes.length).toBeGreaterThan(4);
  const path = new RegExp(`/redisclusters/${cluster.name}/status(\\?|$)`);
  for (const { verb, requestURI, responseStatus } of writes) {
    expect([verb, responseStatus?.code]).toEqual(['patch', 200]);
    expect(requestURI).toMatch(path);
  }
  // Events come a moment after what they tell of.
  await Promise.all(['DemotedToReplica', 'PromotedToPrimary'].map((reason) => cluster.untilEvent(reason)));
  expect(await cluster.reasons()).toEqual(['DemotedToReplica', 'PromotedToPrimary']);
});
