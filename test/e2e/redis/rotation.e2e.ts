import { describe, expect, it } from 'vitest';
import { makeRedisAuthority, makeRedisLeaf, tlsFiles } from '../../support/redis-certificates.ts';
import { until } from '../../support/wait.ts';
import {
  leafForReplica,
  leafOf,
  opens,
  PASSWORD_SPEC,
  passwordSecrets,
  TLS_SPEC,
  untilLinked,
  untilPassword,
  untilTrust,
} from './phases.ts';
import type { RedisNode } from './redis-node.ts';
import { RedisWorld, type TestCluster } from './redis-world.ts';

const world = await RedisWorld.create('redis-rotation');

const MAXMEMORY = String(96 * 2 ** 20);
/** Nobody waits so long: the phase lasts until the test says otherwise. */
const HELD = '1h';

/** A primary waits 5 s for more replicas before it sends them its data; here they are killed one by one. */
const AT_ONCE = { redis: { 'repl-diskless-sync-delay': '0' } };

/** A value that was set live, and so is only there after a start if it was kept. */
async function withLiveValues(cluster: TestCluster): Promise<void> {
  await cluster.start();
  await untilLinked(cluster);
  await cluster.node(0).send('SET', 'colour', 'green');
  await cluster.spec({ redis: { maxmemory: '96mb' } });
  for (const node of cluster.nodes)
    await until(async () => (await node.config('maxmemory')) === MAXMEMORY, { what: `${node.name} 96mb` });
  // What the status says is in the start file too.
  for (const { name } of cluster.nodes)
    await cluster.until(name, ({ config }) => config?.['maxmemory']?.value === MAXMEMORY, '96mb');
}

/** Kills agent and Redis of each pod in turn, and looks at it as soon as it is back. */
async function killEach(cluster: TestCluster, check: (node: RedisNode) => Promise<void>): Promise<void> {
  for (const node of cluster.nodes) {
    const [before] = node.servers;
    await node.kill9();
    node.start();
    const [after] = await until(() => node.servers.length > 0 && node.servers, { what: `${node.name} back` });
    expect(after).not.toBe(before);
    // The first answer of the new server: what it has then is from its files.
    expect(await until(() => node.config('maxmemory'), { what: `${node.name} answers` })).toBe(MAXMEMORY);
    await check(node);
    await untilLinked(cluster);
    await until(async () => (await node.send('GET', 'colour')) === 'green', { what: `the data at ${node.name}` });
  }
}

describe.concurrent('kill -9 of each pod in each phase', () => {
  it('of a password: both are accepted while both should be, and the rotation ends', async () => {
    const cluster = await world.cluster({
      pods: 3,
      spec: { ...PASSWORD_SPEC, ...AT_ONCE, authOverlap: HELD },
      secrets: passwordSecrets('one'),
    });
    for (const node of cluster.nodes)
      node.credentials.unshift({ user: 'default', password: 'one' }, { user: 'default', password: 'two' });
    await withLiveValues(cluster);
    const behind = cluster.node(2);
    const ahead = cluster.nodes.filter((node) => node !== behind);

    for (const node of ahead) await node.project(passwordSecrets('two'));
    await untilPassword(cluster, 'two', 'Accepted', ahead);
    await killEach(cluster, async (node) => {
      expect([await opens(node, 'one'), await opens(node, 'two')]).toEqual([true, node !== behind]);
    });
    for (const { name } of ahead) expect((await cluster.entry(name))?.credentials).toMatchObject({ phase: 'Accepted' });

    await behind.project(passwordSecrets('two'));
    await untilPassword(cluster, 'two', 'Used');
    await killEach(cluster, async (node) => {
      expect([await opens(node, 'one'), await opens(node, 'two')]).toEqual([true, true]);
    });
    for (const { name } of cluster.nodes)
      expect((await cluster.entry(name))?.credentials).toMatchObject({ phase: 'Used' });

    await cluster.spec({ authOverlap: '1s' });
    await untilPassword(cluster, 'two', 'Settled');
    await killEach(cluster, async (node) => {
      expect([await opens(node, 'one'), await opens(node, 'two')]).toEqual([false, true]);
    });
  });

  it('of an authority: what is served and trusted stays, and the rotation ends', async () => {
    const [oldCa, newCa] = [await makeRedisAuthority(), await makeRedisAuthority()];
    const [oldLeaf, newLeaf] = [await makeRedisLeaf(oldCa), await makeRedisLeaf(newCa)];
    const cluster = await world.cluster({
      pods: 3,
      spec: { ...PASSWORD_SPEC, ...AT_ONCE, ...TLS_SPEC, authOverlap: HELD },
      secrets: passwordSecrets('one'),
      tls: tlsFiles(oldLeaf, oldCa),
    });
    for (const node of cluster.nodes) node.credentials.unshift({ user: 'default', password: 'one' });
    await withLiveValues(cluster);
    // The primary: whoever serves a leaf too early is cut off from it.
    const behind = cluster.node(0);
    const ahead = cluster.nodes.filter((node) => node !== behind);

    for (const node of ahead) await node.mountTls(tlsFiles(newLeaf, newCa));
    await untilTrust(cluster, newCa, 'Trusted', ahead);
    await killEach(cluster, async (node) => {
      expect(await leafOf(node, oldCa)).toBe(oldLeaf.fingerprint);
      if (node !== behind) expect(await leafForReplica(node, newLeaf, oldCa)).toBe(oldLeaf.fingerprint);
    });
    for (const { name } of ahead) expect((await cluster.entry(name))?.tls).toMatchObject({ phase: 'Trusted' });

    await behind.mountTls(tlsFiles(newLeaf, newCa));
    await untilTrust(cluster, newCa, 'Served');
    await killEach(cluster, async (node) => {
      expect(await leafForReplica(node, oldLeaf, newCa)).toBe(newLeaf.fingerprint);
      expect(await leafForReplica(node, newLeaf, newCa)).toBe(newLeaf.fingerprint);
    });
    for (const { name } of cluster.nodes) expect((await cluster.entry(name))?.tls).toMatchObject({ phase: 'Served' });

    await cluster.spec({ authOverlap: '1s' });
    await untilTrust(cluster, newCa, 'Settled');
    await killEach(cluster, async (node) => {
      expect(await leafForReplica(node, newLeaf, newCa)).toBe(newLeaf.fingerprint);
      await expect(leafForReplica(node, oldLeaf, newCa)).rejects.toThrow('Redis refuses this certificate');
    });
  });

  it('of a password that the primary does not have yet: a replica that was killed is linked again when it has', async () => {
    const cluster = await world.cluster({
      pods: 2,
      spec: { ...PASSWORD_SPEC, ...AT_ONCE, authOverlap: '1s' },
      secrets: passwordSecrets('one'),
    });
    for (const node of cluster.nodes)
      node.credentials.unshift({ user: 'default', password: 'one' }, { user: 'default', password: 'two' });
    await withLiveValues(cluster);
    const [primary, replica] = [cluster.node(0), cluster.node(1)];
    await replica.project(passwordSecrets('two'));
    await untilPassword(cluster, 'two', 'Accepted', [replica]);
    await replica.kill9();
    replica.start();
    await until(async () => (await opens(replica, 'one')) && (await opens(replica, 'two')), { what: 'both accepted' });
    await primary.project(passwordSecrets('two'));
    await untilPassword(cluster, 'two', 'Settled');
    await untilLinked(cluster);
    for (const node of cluster.nodes)
      expect([await opens(node, 'one'), await opens(node, 'two')]).toEqual([false, true]);
  });
});
