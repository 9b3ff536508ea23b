import { describe, expect, it } from 'vitest';
import { until } from '../../support/wait.ts';
import { RedisWorld } from './redis-world.ts';

const world = await RedisWorld.create('redis-role');
const secrets = { auth: { password: 'one' }, key: { key: 'k' } };
const spec = { authSecret: { name: 'auth' }, rotationKeySecret: { name: 'key' } };

describe('three pods', () => {
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
    await until(async () => (await third.send('GET', 'colour')) === 'green', { what: 'the write at a replica' });

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
    const reasons = new Set(await cluster.reasons());
    expect([...reasons]).toEqual(['DemotedToReplica', 'PromotedToPrimary', 'ReplicaReconfigured']);
  });
});
