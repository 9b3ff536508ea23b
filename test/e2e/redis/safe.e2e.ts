import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ALLOW_DANGEROUS } from '../../../src/api/redis-cluster/annotations.ts';
import { makeRedisAuthority, makeRedisLeaf, tlsFiles } from '../../support/redis-certificates.ts';
import { api } from '../../support/sandbox.ts';
import { until } from '../../support/wait.ts';
import { anotherPass, calls, connectAs, fileOf, infoOf, letsIn, passes, remember, remembered } from './looks.ts';
import type { RedisNode } from './redis-node.ts';
import { RedisWorld, type TestCluster } from './redis-world.ts';

const world = await RedisWorld.create('redis-safe');

const auth = { authSecret: { name: 'auth' } };
/** A replica is not made to wait for others that might come. */
const atOnce = { 'repl-diskless-sync-delay': '0' };
const withAcl = { ...auth, aclConfigSecret: { name: 'acl' } };
const password = (text: string) => ({ auth: { password: text } });
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const isLinked = ({ masterLinkStatus }: { masterLinkStatus?: string | undefined }) => masterLinkStatus === 'up';

/** Runs it with the test's own login as user default. */
async function started(cluster: TestCluster, secret?: string): Promise<RedisNode> {
  if (secret !== undefined)
    for (const { credentials } of cluster.nodes) credentials.unshift({ user: 'default', password: secret });
  await cluster.start();
  return cluster.node(0);
}

const configOf = (node: RedisNode, key: string, value: string) =>
  until(async () => (await node.config(key)) === value, { what: `${key} is ${value} at ${node.name}` });

/** How often Events with this reason were sent, repetitions among them. */
const told = async (cluster: TestCluster, reason: string): Promise<number> =>
  (await cluster.events()).reduce((sum, event) => sum + (event['reason'] === reason ? (event['count'] ?? 1) : 0), 0);

describe.concurrent('safe', () => {
  it('A1 the password for the primary stays: a link that breaks comes back', async () => {
    const cluster = await world.cluster({ pods: 2, spec: { ...auth, redis: atOnce }, secrets: password('one') });
    const primary = await started(cluster, 'one');
    const replica = cluster.node(1);
    await cluster.until(replica.name, isLinked, 'linked');
    await anotherPass(replica);
    expect(await replica.config('masterauth')).toBe('one');
    await primary.send('CLIENT', 'KILL', 'TYPE', 'replica');
    await until(async () => Number((await infoOf(primary, 'stats')).get('sync_partial_ok')) > 0, {
      what: 'the replica is back',
    });
    await primary.send('SET', 'colour', 'green');
    await until(async () => (await replica.send('GET', 'colour')) === 'green', { what: 'the write at the replica' });
    // One command with the user along, and none where nothing changed.
    await remember(replica);
    await anotherPass(replica);
    expect((await remembered(replica)).filter(([name, verb]) => name === 'CONFIG' && verb === 'SET')).toEqual([]);
  });

  it('A2 no connection of anybody is closed over many passes, nor by the change of another user', async ({
    onTestFinished,
  }) => {
    const acl = (rules: string) => ({ acl: { acl: `user app on >app ~* &* +@all\nuser other on >other ${rules}\n` } });
    const cluster = await world.cluster({ spec: withAcl, secrets: { ...password('one'), ...acl('~a:* +get') } });
    const node = await started(cluster, 'one');
    const app = await connectAs({ path: node.socket }, 'app', 'app');
    onTestFinished(() => app.close());
    const id = await app.send('CLIENT', 'ID');
    for (let round = 0; round < 5; round += 1) await anotherPass(node);
    await node.project(acl('~b:* +get'));
    await until(async () => String(await node.send('ACL', 'LIST')).includes('~b:*'), {
      what: 'the new rules of other',
    });
    expect(await app.send('CLIENT', 'ID')).toBe(id);
    expect(app.isOpen).toBe(true);
    expect(await calls(node, 'acl|load')).toBe(0);
  });

  it('A3 a default user whom somebody has opened gets its password back', async () => {
    const acl = { acl: { acl: 'user app on >app ~* &* +@all\n' } };
    const cluster = await world.cluster({ spec: withAcl, secrets: { ...password('one'), ...acl } });
    const node = await started(cluster, 'one');
    writeFileSync(join(node.folders.data, 'users.acl'), 'user app on >app ~* &* +@all\n');
    await node.send('ACL', 'LOAD');
    await until(async () => !(await letsIn({ path: node.socket }, undefined)), { what: 'the door is closed again' });
    const users = (await node.send('ACL', 'LIST')) as readonly string[];
    const standard = users.find((user) => user.startsWith('user default '));
    expect(standard).toContain(`#${sha256('one')}`);
    expect(standard).not.toContain('nopass');
    expect(await letsIn({ path: node.socket }, 'one')).toBe(true);
    await until(() => fileOf(node, 'users.acl')?.text.includes(sha256('one')), { what: 'the file of the next start' });
  });

  it('A4 new certificates are one CONFIG SET, and served then', async () => {
    const authority = await makeRedisAuthority();
    const [first, second] = await Promise.all([makeRedisLeaf(authority), makeRedisLeaf(authority)]);
    const spec = { tlsSecret: { name: 'tls' }, caSecret: { name: 'ca' } };
    const cluster = await world.cluster({ spec, tls: tlsFiles(first, authority) });
    const node = await started(cluster);
    await remember(node);
    await node.mountTls(tlsFiles(second, authority));
    await cluster.until(node.name, ({ tls }) => tls?.leaf === second.fingerprint, 'with the new certificate');
    const sets = (await remembered(node)).filter(([name, verb]) => name === 'CONFIG' && verb === 'SET');
    expect(sets.map((words) => words.filter((_, at) => at > 1 && at % 2 === 0).toSorted())).toEqual([
      ['tls-ca-cert-file', 'tls-cert-file', 'tls-key-file'],
    ]);
    await cluster.untilEvent('CertificatesRotated');
  });

  it('A5 a bad key does not stop the others, and is told with its place', async () => {
    const cluster = await world.cluster();
    const node = await started(cluster);
    await cluster.spec({ redis: { 'active-expire-effort': '3', hz: 'often', 'tcp-keepalive': '61', timeout: '77' } });
    const { config = {} } = await cluster.until(node.name, (entry) => entry.config?.['hz'] !== undefined, 'judged');
    for (const [key, value] of Object.entries({ 'active-expire-effort': '3', 'tcp-keepalive': '61', timeout: '77' })) {
      expect(await node.config(key), key).toBe(value);
      expect(config[key], key).toMatchObject({ state: 'Applied', value });
    }
    expect(config['hz']).toMatchObject({ state: 'Refused', value: '10' });
    expect(config['hz']?.message).toContain("argument couldn't be parsed into an integer");
    expect((await cluster.untilEvent('ConfigRefused'))['message']).toContain('spec.redis.hz');
  });

  it('A6 ConfigReloaded is told when a value has changed, and not otherwise', async () => {
    const cluster = await world.cluster();
    const node = await started(cluster);
    await cluster.spec({ redis: { timeout: '77' } });
    await cluster.untilEvent('ConfigReloaded', /timeout/);
    for (let round = 0; round < 3; round += 1) await anotherPass(node);
    await cluster.annotate({ [ALLOW_DANGEROUS]: 'hz' });
    await anotherPass(node);
    expect(await told(cluster, 'ConfigReloaded')).toBe(1);
    await cluster.spec({ redis: { timeout: '78' } });
    await until(async () => (await told(cluster, 'ConfigReloaded')) === 2, { what: 'the second Event' });
  });

  it('A7 a key that is removed goes back to what it was', async () => {
    const cluster = await world.cluster({ spec: { redis: { 'tcp-keepalive': '61' } } });
    const node = await started(cluster);
    const before = await node.config('maxmemory-samples');
    await cluster.spec({ redis: { 'maxmemory-samples': '9' } });
    await configOf(node, 'maxmemory-samples', '9');
    await cluster.spec({ redis: { 'maxmemory-samples': null, 'tcp-keepalive': null } });
    await configOf(node, 'maxmemory-samples', before ?? '');
    await configOf(node, 'tcp-keepalive', '300');
    await cluster.until(node.name, ({ config }) => config === undefined, 'without keys');
  });

  it('A8 without a primary the role is left alone, and all else is done', async () => {
    const cluster = await world.cluster({ primary: '', spec: auth, secrets: password('one') });
    const node = await started(cluster, 'one');
    await cluster.spec({ redis: { timeout: '77' } });
    await configOf(node, 'timeout', '77');
    expect(await cluster.entry(node.name)).toMatchObject({ role: 'master', connected: true, state: 'Running' });
    await node.send('REPLICAOF', '127.0.0.1', '1');
    await anotherPass(node);
    await cluster.until(node.name, ({ role }) => role === 'slave', 'as somebody has made it');
    expect(await calls(node, 'replicaof')).toBe(1);
    expect(await letsIn({ path: node.socket }, undefined)).toBe(false);
  });

  it('A9 a primary without address, with the own one, being deleted, or missing: nothing is sent, and it is told', async () => {
    const cluster = await world.cluster({ pods: 2 });
    const [node, other] = [cluster.node(0), cluster.node(1)];
    node.start();
    await cluster.until(node.name, ({ state }) => state === 'Running', 'Running');
    await node.send('SET', 'colour', 'green');
    await cluster.setPodIp(other.name, '');
    await cluster.status({ currentPrimary: other.name });
    const isTold = async (words: string) => {
      await cluster.until(node.name, ({ message }) => message?.includes(words) ?? false, words);
      expect(await calls(node, 'replicaof')).toBe(0);
      expect(await cluster.entry(node.name)).toMatchObject({ role: 'master', connected: true, state: 'Degraded' });
    };
    await isTold(`pod ${other.name} has no address yet`);
    await cluster.untilEvent('RoleRefused', /has no address yet/);
    await cluster.setPodIp(other.name, node.address);
    await node.project({});
    await isTold(`has this pod's own address`);
    const pod = `/api/v1/namespaces/${cluster.namespace}/pods/${other.name}`;
    await api().patch(pod, { metadata: { finalizers: ['attune.dev/held'] } });
    await api().delete(pod);
    await cluster.status({ currentPrimary: 'nobody' });
    await isTold('"nobody", which does not exist');
    // Not before it is being deleted, nor while it is named: a pass in between would follow it.
    await cluster.setPodIp(other.name, other.address);
    await cluster.status({ currentPrimary: other.name });
    await isTold(`pod ${other.name} is being deleted`);
    await api().patch(pod, { metadata: { finalizers: null } });
    // The rest of a pass is done all the same.
    await cluster.spec({ redis: { timeout: '77' } });
    await configOf(node, 'timeout', '77');
  });

  it('A10 a file that is missing is no empty one: the password stays, also over a restart', async () => {
    const cluster = await world.cluster({ spec: auth, secrets: password('one') });
    const node = await started(cluster, 'one');
    await node.project({ auth: {} });
    const { message } = await cluster.until(node.name, ({ state }) => state === 'Degraded', 'Degraded');
    expect(message).toContain(`${node.folders.projected}/auth/password: is missing`);
    await cluster.untilEvent('SecretRefused', /is missing/);
    const isAsBefore = async () => {
      expect(await letsIn({ path: node.socket }, 'one')).toBe(true);
      expect(await letsIn({ path: node.socket }, undefined)).toBe(false);
    };
    await isAsBefore();
    expect(await node.config('masterauth')).toBe('one');
    await node.kill9();
    node.start();
    await until(async () => (await node.ask('/readyz')).status === 200, { what: 'ready again' });
    await isAsBefore();
  });

  it('A11 a fenced pod says once that it is not connected, and what others wrote stays', async () => {
    const cluster = await world.cluster();
    const node = await started(cluster);
    const lastSeenAt = '2026-01-02T03:04:05Z';
    await cluster.status({ instancesStatus: { [node.name]: { lastSeenAt } } });
    await cluster.fence(node.name);
    const entry = await cluster.until(node.name, ({ state }) => state === 'Fenced', 'Fenced');
    expect(entry).toMatchObject({ connected: false, lastSeenAt });
    expect(entry.role).toBeUndefined();
    expect(entry.connectedReplicas).toBeUndefined();
    const { resourceVersion } = (await cluster.get()).metadata;
    for (let round = 0; round < 3; round += 1) await anotherPass(node);
    expect((await cluster.get()).metadata.resourceVersion).toBe(resourceVersion);
    await cluster.untilEvent('InstanceFenced');
    expect(await told(cluster, 'InstanceFenced')).toBe(1);
  });

  it('A12 a Redis that loads its data gets settings and password though its role has to wait', async () => {
    // Each key is as long as that interval: else a command would wait for dozens of them.
    const slowly = { 'key-load-delay': '5000', 'loading-process-events-interval-bytes': '1024', rdbcompression: 'no' };
    const spec = { ...auth, redis: slowly };
    const cluster = await world.cluster({ pods: 2, spec, secrets: password('one') });
    const [node, other] = [cluster.node(0), cluster.node(1)];
    node.credentials.unshift({ user: 'default', password: 'two' }, { user: 'default', password: 'one' });
    node.start();
    await cluster.until(node.name, ({ state }) => state === 'Running', 'Running');
    await node.send('EVAL', "for i = 1, 4000 do redis.call('SET', 'k' .. i, string.rep('x', 1024)) end", '0');
    await node.send('BGREWRITEAOF');
    await until(async () => (await infoOf(node, 'persistence')).get('aof_rewrite_in_progress') === '0', {
      what: 'all in one file',
    });
    await node.kill9();
    await cluster.status({ currentPrimary: node.name });
    node.start();
    const loading = async () => (await infoOf(node, 'persistence')).get('loading');
    await until(async () => (await loading()) === '1', { what: 'Redis loads' });
    await cluster.status({ currentPrimary: other.name });
    await cluster.spec({ redis: { timeout: '77' } });
    await node.project(password('two'));
    await configOf(node, 'timeout', '77');
    await until(() => letsIn({ path: node.socket }, 'two'), { what: 'the new password' });
    await cluster.until(node.name, ({ message }) => message?.includes('role: LOADING') ?? false, 'waits with its role');
    await cluster.untilEvent('RoleRefused', /LOADING/);
    expect(await loading()).toBe('1');
    expect((await node.ask('/readyz')).status).toBe(503);
    expect((await node.ask('/healthz')).status).toBe(200);
    await node.send('CONFIG', 'SET', 'key-load-delay', '0');
    await cluster.until(node.name, ({ role }) => role === 'slave', 'a replica after all');
  });

  it('A13 a file that changes wakes the agent by itself, and the next one too', async () => {
    const flags = ['--resync=1h'];
    const cluster = await world.cluster({ flags, spec: { ...auth, authOverlap: '0s' }, secrets: password('one') });
    const node = await started(cluster, 'one');
    for (const next of ['two', 'three', 'four']) {
      await node.project(password(next));
      await until(() => letsIn({ path: node.socket }, next), { what: `password ${next}` });
    }
  });

  it('A14 what pods write into the status wakes nobody', async () => {
    const cluster = await world.cluster({ flags: ['--resync=1h'] });
    const node = await started(cluster);
    await cluster.status({ instancesStatus: { other: { replicationOffset: 1 } } });
    await anotherPass(node);
    const before = await passes(node);
    for (let offset = 2; offset <= 200; offset += 1) {
      const own = { lastSeenAt: new Date(offset * 1e9).toISOString() };
      await cluster.status({ instancesStatus: { other: { replicationOffset: offset }, [node.name]: own } });
    }
    await cluster.spec({ redis: { timeout: '77' } });
    await configOf(node, 'timeout', '77');
    // The spec's own, one for a number that waited, and what still was to come of the pass before.
    expect((await passes(node)) - before).toBeLessThanOrEqual(6);
  });

  it('A15 in sentinel mode a running Redis keeps the role that Sentinel gave it', async () => {
    const cluster = await world.cluster({ pods: 2, spec: { mode: 'sentinel', redis: atOnce } });
    const [node, other] = [cluster.node(0), cluster.node(1)];
    await started(cluster);
    await cluster.until(other.name, isLinked, 'started as a replica');
    // As Sentinel does it; the object learns of it later.
    await other.send('REPLICAOF', 'NO', 'ONE');
    await node.send('REPLICAOF', other.address, '6379');
    for (const each of cluster.nodes) await anotherPass(each);
    await cluster.until(other.name, ({ role }) => role === 'master', 'promoted');
    await cluster.until(node.name, isLinked, 'a replica');
    expect([await calls(node, 'replicaof'), await calls(other, 'replicaof')]).toEqual([1, 1]);
    await cluster.spec({ redis: { timeout: '77' } });
    for (const each of cluster.nodes) await configOf(each, 'timeout', '77');
  });
});
