import { describe, expect, it } from 'vitest';
import { until } from '../../support/wait.ts';
import { RedisWorld } from './redis-world.ts';

const world = await RedisWorld.create('redis-role');
const secrets = { auth: { password: 'one' }, key: { key: 'k' } };
const spec = { authSecret: { name: 'auth' }, rotationKeySecret: { name: 'key' } };

describe.concurrent('the primary moves', () => {
  it('R6 to R10 follow the one that is named, with a password, and move when another is', async () => {
    const cluster = await world.cluster({ pods: 3, spec, secrets });
    for (const node of cluster.nodes) node.credentials.unshift({ user: 'default', password: 'one' });
    await cluster.start();
    const [first, second, third] = [cluster.node(0), cluster.node(1), cluster.node(2)];
    await cluster.until(
      first.name,
      ({ role, connectedReplicas }) => role === 'master' && connectedReplicas === 2,
      'with 2 replicas',
    );
    await cluster.until(second.name, ({ masterLinkStatus }) => masterLinkStatus === 'up', 'linked');
    await first.send('SET', 'colour', 'green');
    // A link that is up may carry nothing for a second: a primary sends no command before the replica's next ACK.
    for (const replica of [second, third])
      await until(async () => (await replica.send('GET', 'colour')) === 'green', {
        what: `the write at ${replica.name}`,
      });

    await cluster.status({ currentPrimary: second.name });
    await cluster.until(
      second.name,
      ({ role, connectedReplicas }) => role === 'master' && connectedReplicas === 2,
      'primary',
    );
    await cluster.until(
      first.name,
      ({ role, masterLinkStatus }) => role === 'slave' && masterLinkStatus === 'up',
      'replica',
    );
    expect(await first.send('GET', 'colour')).toBe('green');
    const expected = ['DemotedToReplica', 'PromotedToPrimary', 'ReplicaReconfigured'];
    for (const reason of expected) await cluster.untilEvent(reason);
    expect([...new Set(await cluster.reasons())]).toEqual(expected);
  });

  it('the primary is fenced, another named, and the fence taken away: no acknowledged write is lost', async () => {
    const cluster = await world.cluster({ pods: 2, spec: { redis: { 'repl-diskless-sync-delay': '0' } } });
    await cluster.start();
    const [first, second] = [cluster.node(0), cluster.node(1)];
    await cluster.until(second.name, ({ masterLinkStatus }) => masterLinkStatus === 'up', 'linked');
    let acknowledged = 0;
    const writing = async (): Promise<unknown> => {
      for (;;) {
        const refused = await first.send('RPUSH', 'log', String(acknowledged)).then(() => undefined, String);
        if (refused !== undefined) return refused;
        acknowledged += 1;
      }
    };
    const refused = writing();
    await until(() => acknowledged > 500, { what: 'some writes' });
    await cluster.fence(first.name);
    expect(await refused).toContain('NOREPLICAS');
    await cluster.until(first.name, ({ state }) => state === 'Fenced', 'fenced');
    expect(first.servers).toEqual([]);

    await cluster.status({ currentPrimary: second.name });
    await cluster.until(second.name, ({ role }) => role === 'master', 'primary');
    expect(await second.send('LLEN', 'log')).toBe(acknowledged);
    expect(await second.send('RPUSH', 'log', 'more')).toBe(acknowledged + 1);
    await cluster.fence();
    await until(async () => (await first.send('LLEN', 'log')) === acknowledged + 1, { what: 'the log at the first' });
    expect(await first.send('LINDEX', 'log', String(acknowledged - 1))).toBe(String(acknowledged - 1));
  });
});
