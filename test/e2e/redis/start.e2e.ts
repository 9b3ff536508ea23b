import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { writeKubeconfig } from '../../../src/sandbox/control-plane/write-kubeconfig.ts';
import { makeRedisAuthority, makeRedisLeaf, tlsFiles } from '../../support/redis-certificates.ts';
import { until } from '../../support/wait.ts';
import { anotherPass, calls, connectAs, fileOf, letsIn, shownIn } from './looks.ts';
import type { RedisNode } from './redis-node.ts';
import { RedisWorld, type TestCluster } from './redis-world.ts';

const world = await RedisWorld.create('redis-start');

/** A replica is not made to wait for others that might come. */
const atOnce = { 'repl-diskless-sync-delay': '0' };
const auth = { authSecret: { name: 'auth' } };
const isLinked = ({ masterLinkStatus }: { masterLinkStatus?: string | undefined }) => masterLinkStatus === 'up';
const isReady = (node: RedisNode) =>
  until(async () => (await node.ask('/readyz')).status === 200, { what: `${node.name} ready` });

/** A kubeconfig that leads to where nobody listens. */
function deadEnd(cluster: TestCluster, node: RedisNode): Readonly<Record<string, string>> {
  const kubeconfig = join(node.folders.projected, '..', 'dead-end');
  writeKubeconfig(kubeconfig, 'e2e', { ...cluster.access, server: 'https://127.0.0.1:9' });
  return { KUBECONFIG: kubeconfig };
}

describe.concurrent('the next start', () => {
  it('is by a file without secrets that nobody else may read; CONFIG REWRITE is never sent', async () => {
    const authority = await makeRedisAuthority();
    const leaf = await makeRedisLeaf(authority);
    const secrets = ['S3cret-one', 'S3cret-app', 'S3cret-two'] as const;
    const cluster = await world.cluster({
      spec: {
        ...{ ...auth, aclConfigSecret: { name: 'acl' }, authOverlap: '0s' },
        ...{ tlsSecret: { name: 'tls' }, caSecret: { name: 'ca' }, redis: { timeout: '77' } },
      },
      secrets: { auth: { password: secrets[0] }, acl: { acl: `user app on >${secrets[1]} ~* &* +@all` } },
      tls: tlsFiles(leaf, authority),
    });
    const node = cluster.node(0);
    node.credentials.unshift(...[secrets[0], secrets[2]].map((password) => ({ user: 'default', password })));
    await cluster.start();
    await cluster.spec({ redis: { timeout: '78', 'tcp-keepalive': '61' } });
    await node.project({ auth: { password: secrets[2] } });
    await until(() => letsIn({ path: node.socket }, secrets[2]), { what: 'the new password' });
    await anotherPass(node);
    for (const name of ['redis.conf', 'redis.conf.good', 'users.acl']) {
      const { mode, text } = fileOf(node, name) ?? { mode: 0, text: '' };
      expect(mode, name).toBe(0o600);
      for (const secret of secrets) expect(text, name).not.toContain(secret);
      expect(text, name).not.toMatch(/requirepass|masterauth/);
    }
    expect(fileOf(node, 'users.acl')?.text).toMatch(/^user app .*#[0-9a-f]{64}/m);
    expect(await calls(node, 'config|rewrite')).toBe(0);
    expect(await shownIn(cluster, [...secrets, leaf.key.slice(60, 120)])).toEqual([]);

    await node.kill9();
    node.start();
    await isReady(node);
    expect(await node.config('timeout')).toBe('78');
    expect(await letsIn({ path: node.socket }, secrets[2])).toBe(true);
    expect(await letsIn({ path: node.socket }, secrets[1], 'app')).toBe(true);
    expect(await letsIn({ path: node.socket }, undefined)).toBe(false);
  });

  it('has no value that was refused, also of what was changed while nothing ran', async () => {
    const cluster = await world.cluster({ spec: { redis: { timeout: '77', 'maxmemory-samples': '7' } } });
    const node = cluster.node(0);
    await cluster.start();
    await cluster.spec({ redis: { timeout: 'soon', 'io-threads': 'abc', maxmemory: '256Mi', 'no-such-thing': 'yes' } });
    const { config = {} } = await cluster.until(
      node.name,
      (entry) => entry.config?.['io-threads'] !== undefined,
      'judged',
    );
    for (const key of ['timeout', 'io-threads', 'maxmemory', 'no-such-thing'])
      expect(config[key], key).toMatchObject({ state: 'Refused' });
    expect(config['maxmemory']?.message).toContain('256mb');
    const isGood = async () => {
      expect(await node.config('timeout')).toBe('77');
      expect(await node.config('maxmemory-samples')).toBe('7');
      expect(fileOf(node, 'redis.conf')?.text).not.toMatch(/soon|abc|256Mi|no-such-thing|often/);
    };
    await isGood();
    await node.kill9();
    await cluster.spec({ redis: { hz: 'often', 'maxmemory-samples': '8', 'io-threads': null } });
    node.start();
    await cluster.until(node.name, (entry) => entry.config?.['hz']?.state === 'Refused', 'judged again');
    expect(await node.config('maxmemory-samples')).toBe('8');
    expect(await node.config('timeout')).toBe('77');
    expect(fileOf(node, 'redis.conf')?.text).not.toMatch(/soon|abc|256Mi|no-such-thing|often/);
  });

  it('of a value that counts from a start on has it, and is told to be needed before', async () => {
    const cluster = await world.cluster();
    const node = cluster.node(0);
    await cluster.start();
    await cluster.spec({ redis: { databases: '20' } });
    await cluster.until(node.name, (entry) => entry.config?.['databases']?.state === 'RestartNeeded', 'told');
    await cluster.untilEvent('RestartNeeded', /databases/);
    expect(await node.config('databases')).toBe('16');
    await node.kill9();
    node.start();
    await cluster.until(node.name, (entry) => entry.config?.['databases']?.state === 'Applied', 'applied');
    expect(await node.config('databases')).toBe('20');
  });

  it('is possible while the API server is away: all is as it was last known', async () => {
    const spec = { ...auth, redis: { ...atOnce, timeout: '77' } };
    const cluster = await world.cluster({ pods: 2, spec, secrets: { auth: { password: 'one' } } });
    for (const { credentials } of cluster.nodes) credentials.unshift({ user: 'default', password: 'one' });
    const replica = cluster.node(1);
    await cluster.start();
    await cluster.until(replica.name, isLinked, 'linked');
    await cluster.node(0).send('SET', 'colour', 'green');
    await replica.kill9();
    replica.start([], deadEnd(cluster, replica));
    await isReady(replica);
    expect(await replica.config('timeout')).toBe('77');
    expect(await letsIn({ path: replica.socket }, undefined)).toBe(false);
    expect(JSON.parse((await replica.ask('/v1/status')).body)).toMatchObject({ role: 'slave' });
    await until(async () => (await replica.send('GET', 'colour')) === 'green', { what: 'in step with its primary' });
    // Files still count.
    await replica.project({ auth: { password: 'two' } });
    await until(() => letsIn({ path: replica.socket }, 'two'), { what: 'the new password' });
    expect(replica.lines.join('\n')).toContain('the API server does not answer; what was last known counts');
  });

  it('waits for the object where it was never seen', async () => {
    const cluster = await world.cluster();
    const node = cluster.node(0);
    node.start([], deadEnd(cluster, node));
    await until(() => node.lines.some((line) => line.includes('has not been seen yet')), { what: 'told' });
    expect(node.servers).toEqual([]);
    expect((await node.ask('/healthz')).status).toBe(200);
    expect(await node.ask('/readyz')).toEqual({ status: 503, body: 'Redis does not run' });
  });

  it('is by the last good file if a new one does not work', async () => {
    const cluster = await world.cluster({ spec: { redis: { timeout: '77' } } });
    const node = cluster.node(0);
    await cluster.start();
    await node.kill9();
    // As if a value had been accepted that this Redis does not start with.
    const kept = join(node.folders.state, 'config.json');
    const state = JSON.parse(readFileSync(kept, 'utf8')) as Record<string, unknown>;
    expect(state).toHaveProperty('live');
    writeFileSync(
      kept,
      JSON.stringify({ ...state, start: [['appendfsync', { label: 'appendfsync', text: 'nonsense' }]] }),
    );
    node.start();
    await isReady(node);
    expect(await node.config('timeout')).toBe('77');
    expect(fileOf(node, 'redis.conf')?.text).not.toContain('nonsense');
  });
});

describe.concurrent('a primary that becomes a replica', () => {
  it('cuts the connections of its clients, which would go on writing to it', async ({ onTestFinished }) => {
    const cluster = await world.cluster({ pods: 2, spec: { redis: atOnce } });
    const [primary, replica] = [cluster.node(0), cluster.node(1)];
    await cluster.start();
    await cluster.until(replica.name, isLinked, 'linked');
    const [client, reader] = await Promise.all(
      [primary, replica].map(({ address: host }) => connectAs({ host, port: 6379 }, 'default', undefined)),
    );
    onTestFinished(() => {
      for (const one of [client, reader]) one?.close();
    });
    await client?.send('SET', 'colour', 'green');
    // A link that is up may carry nothing for a second, and who has nothing is not promoted where others have something.
    await until(async () => (await reader?.send('GET', 'colour')) === 'green', { what: 'the write at the replica' });
    await cluster.status({ currentPrimary: replica.name });
    await cluster.until(primary.name, isLinked, 'a replica');
    await until(() => client?.isOpen === false, { what: 'the connection is cut' });
    expect(reader?.isOpen).toBe(true);
    await expect(primary.send('SET', 'colour', 'red')).rejects.toThrow('READONLY');
    const isTaken = () => reader?.send('SET', 'colour', 'red').then((answer) => answer === 'OK');
    await until(isTaken, { what: 'the new primary takes writes' });
  });
});
