import { existsSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { describe, expect, it, type TestContext } from 'vitest';
import { environment } from '../../../src/config/load.ts';
import { makeRedisAuthority, makeRedisLeaf, tlsFiles } from '../../support/redis-certificates.ts';
import { type RedisOptions, startRedis, type TestRedis } from '../../support/redis-process.ts';
import { until } from '../../support/wait.ts';
import { anotherPass, calls, infoOf, letsIn, remember, remembered } from './looks.ts';
import type { RedisNode } from './redis-node.ts';
import { RedisWorld } from './redis-world.ts';

const world = await RedisWorld.create('redis-sidecar');
const flags = ['--mode=sidecar'];
const isRunning = ({ state }: { state?: string | undefined }) => state === 'Running';
const isFenced = ({ state }: { state?: string | undefined }) => state === 'Fenced';
const isLinked = ({ masterLinkStatus }: { masterLinkStatus?: string | undefined }) => masterLinkStatus === 'up';
const login = (password: string) => ({ user: 'default', password });

/** The Redis of a pod that somebody else has started, on the address of the pod. */
async function foreign(
  { address: host }: RedisNode,
  { onTestFinished }: TestContext,
  options: RedisOptions = {},
): Promise<TestRedis> {
  const redis = await startRedis({ host, ...options });
  onTestFinished(() => redis.stop());
  return redis;
}

/** Where it is depends on how it was installed. */
function redisServer(): string {
  const files = (environment()['PATH'] ?? '').split(delimiter).map((folder) => join(folder, 'redis-server'));
  const file = files.find((each) => existsSync(each));
  if (file === undefined) throw new Error('there is no redis-server in the PATH');
  return file;
}

const startAt = (node: RedisNode) => node.start([`--redis-address=${node.address}:6379`]);

const configOf = async (redis: TestRedis, key: string): Promise<string | undefined> =>
  ((await redis.send('CONFIG', 'GET', key)) as readonly string[])[1];

const isConfig = (redis: TestRedis, key: string, value: string) =>
  until(async () => (await configOf(redis, key)) === value, { what: `${key} is ${value}` });

const isAlive = ({ pid }: TestRedis): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

async function isTuned(redis: TestRedis, password: string, timeout: string): Promise<void> {
  expect(await configOf(redis, 'timeout')).toBe(timeout);
  expect(await configOf(redis, 'masterauth')).toBe(password);
  expect(await letsIn({ path: redis.path }, undefined)).toBe(false);
  expect(await letsIn({ path: redis.path }, password)).toBe(true);
  expect(await letsIn({ path: redis.path }, 'app', 'app')).toBe(true);
  expect(isAlive(redis)).toBe(true);
}

/** By kill -9, wherever they are in their work. */
async function restartAgents(nodes: readonly RedisNode[]): Promise<void> {
  for (const node of nodes) {
    await node.signal('SIGKILL');
    startAt(node);
  }
}

describe.concurrent('beside a Redis of somebody else', () => {
  it('role, settings, password and users are applied; agents that are killed lose nothing, and Redis is the same', async (test) => {
    const spec = {
      redis: { 'repl-diskless-sync-delay': '0', timeout: '77', databases: '20' },
      ...{ authSecret: { name: 'auth' }, aclConfigSecret: { name: 'acl' }, rotationKeySecret: { name: 'key' } },
      authOverlap: '0s',
    };
    const secrets = { auth: { password: 'one' }, acl: { acl: 'user app on >app ~* &* +@all' }, key: { key: 'k' } };
    const cluster = await world.cluster({ pods: 2, flags, spec, secrets });
    const [first, second] = [cluster.node(0), cluster.node(1)];
    const servers = await Promise.all(cluster.nodes.map((node) => foreign(node, test)));
    const [primary, replica] = servers as [TestRedis, TestRedis];
    for (const { credentials } of servers) credentials.unshift(login('two'), login('one'));
    for (const node of cluster.nodes) startAt(node);
    await Promise.all(cluster.nodes.map(({ name }) => cluster.until(name, isRunning, 'Running')));
    await cluster.until(second.name, isLinked, 'linked');
    const entry = await cluster.until(first.name, ({ connectedReplicas }) => connectedReplicas === 1, 'with a replica');
    expect(entry).toMatchObject({
      role: 'master',
      connected: true,
      config: { timeout: { state: 'Applied' }, databases: { state: 'RestartNeeded' } },
      acl: { state: 'Applied' },
    });
    for (const redis of servers) await isTuned(redis, 'one', '77');

    await cluster.spec({ redis: { timeout: '78' } });
    await restartAgents(cluster.nodes);
    // A sidecar that has never logged in with the old password would not come in with the new one.
    await Promise.all(cluster.nodes.map(anotherPass));
    await Promise.all(cluster.nodes.map((node) => node.project({ auth: { password: 'two' } })));
    await Promise.all(servers.map(({ path }) => until(() => letsIn({ path }, 'two'), { what: 'the new password' })));
    await restartAgents(cluster.nodes);
    await restartAgents(cluster.nodes);
    for (const redis of servers) {
      await until(async () => !(await letsIn({ path: redis.path }, 'one')), { what: 'the old password is gone' });
      await isTuned(redis, 'two', '78');
      expect(await calls(redis, 'config|rewrite')).toBe(0);
      expect(await calls(redis, 'acl|load')).toBe(0);
    }
    await cluster.until(second.name, ({ credentials }) => credentials?.phase === 'Settled', 'settled');
    await primary.send('SET', 'colour', 'green');
    await until(async () => (await replica.send('GET', 'colour')) === 'green', { what: 'the write at the replica' });
    // And where nothing changes nothing is sent.
    await remember(replica);
    await anotherPass(second);
    expect((await remembered(replica)).filter(([, verb]) => verb === 'SET' || verb === 'SETUSER')).toEqual([]);
    // An agent that ends leaves the Redis of somebody else alone.
    await first.signal('SIGTERM');
    expect(await primary.send('SET', 'colour', 'red')).toBe('OK');
    expect(isAlive(primary)).toBe(true);
  });

  it('what its owner starts anew gets settings and password again', async (test) => {
    const spec = { redis: { timeout: '77' }, authSecret: { name: 'auth' } };
    const cluster = await world.cluster({ flags, spec, secrets: { auth: { password: 'one' } } });
    const node = cluster.node(0);
    const before = await foreign(node, test, { credentials: [login('one')] });
    startAt(node);
    await cluster.until(node.name, isRunning, 'Running');
    await before.stop();
    await cluster.until(node.name, ({ connected }) => connected === false, 'not connected');
    await cluster.untilEvent('RedisUnreachable');
    const after = await foreign(node, test, { credentials: [login('one')] });
    await cluster.until(node.name, isRunning, 'running again');
    expect(await configOf(after, 'timeout')).toBe('77');
    expect(await letsIn({ path: after.path }, undefined)).toBe(false);
  });

  it('by its socket: certificates', async (test) => {
    const authority = await makeRedisAuthority();
    const [first, second] = await Promise.all([makeRedisLeaf(authority), makeRedisLeaf(authority)]);
    const spec = { tlsSecret: { name: 'tls' }, caSecret: { name: 'ca' } };
    const cluster = await world.cluster({ flags, spec, tls: tlsFiles(first, authority) });
    const node = cluster.node(0);
    const redis = await foreign(node, test, { tls: { cert: first.cert, key: first.key, ca: authority.cert } });
    const start = () => node.start([`--socket=${redis.path}`, `--redis-address=${node.address}:6379`]);
    start();
    await cluster.until(node.name, ({ tls }) => tls?.leaf === first.fingerprint, 'with the first certificate');
    await node.mountTls(tlsFiles(second, authority));
    await cluster.until(node.name, ({ tls }) => tls?.leaf === second.fingerprint, 'with the second certificate');
    await node.signal('SIGKILL');
    start();
    await anotherPass(node);
    expect(await cluster.entry(node.name)).toMatchObject({ state: 'Running', tls: { leaf: second.fingerprint } });
    expect(isAlive(redis)).toBe(true);
  });

  it('a fence ends it where its process can be seen, and again whenever it is started', async (test) => {
    const cluster = await world.cluster({ flags });
    const node = cluster.node(0);
    const redis = await foreign(node, test);
    startAt(node);
    await cluster.until(node.name, isRunning, 'Running');
    await cluster.fence(node.name);
    await cluster.until(node.name, isFenced, 'fenced');
    await until(() => !isAlive(redis), { what: 'Redis ends' });
    // It may end before it has answered once.
    const again = await foreign(node, test).catch(() => undefined);
    await until(() => !again || !isAlive(again), { what: 'Redis ends again' });
    await cluster.fence();
    await cluster.until(node.name, ({ state }) => state !== 'Fenced', 'not fenced');
    const last = await foreign(node, test);
    await cluster.until(node.name, isRunning, 'running');
    expect(await last.send('SET', 'colour', 'green')).toBe('OK');
    expect(await configOf(last, 'min-replicas-to-write')).toBe('0');
  });

  it('a fence closes writes where its process cannot be seen, also while agents die, and opens them after', async (test) => {
    const folder = mkdtempSync('/tmp/rs-');
    test.onTestFinished(() => rmSync(folder, { recursive: true }));
    // The processes of another container: what is there under its number is no redis-server.
    const program = join(folder, 'in-another-container');
    symlinkSync(redisServer(), program);
    const cluster = await world.cluster({ flags });
    const node = cluster.node(0);
    const redis = await foreign(node, test, { program });
    await redis.send('SET', 'colour', 'green');
    startAt(node);
    await cluster.until(node.name, isRunning, 'Running');
    await cluster.fence(node.name);
    const { connected, message } = await cluster.until(node.name, isFenced, 'fenced');
    expect(connected).toBe(false);
    expect(message).toContain('writes are closed');
    await isConfig(redis, 'min-replicas-to-write', '1000');
    const isClosed = () => expect(redis.send('SET', 'colour', 'red')).rejects.toThrow('NOREPLICAS');
    await isClosed();
    expect(await redis.send('GET', 'colour')).toBe('green');
    await node.signal('SIGKILL');
    await isClosed();
    startAt(node);
    await until(async () => (await node.ask('/readyz')).body === 'this pod is fenced', { what: 'fenced again' });
    await anotherPass(node);
    await isClosed();
    // Its owner starts it anew: it does not know of the fence.
    await redis.stop();
    const again = await foreign(node, test, { program });
    await isConfig(again, 'min-replicas-to-write', '1000');
    await expect(again.send('SET', 'colour', 'red')).rejects.toThrow('NOREPLICAS');
    await cluster.fence();
    await cluster.until(node.name, isRunning, 'running');
    expect(await again.send('SET', 'colour', 'red')).toBe('OK');
    expect((await infoOf(again, 'replication')).get('role')).toBe('master');
  });
});
