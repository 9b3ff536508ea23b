import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { describe, expect, it } from 'vitest';
import type { InstanceEntry } from '../../../src/domain/redis/cluster-view.ts';
import { writeKubeconfig } from '../../../src/sandbox/control-plane/write-kubeconfig.ts';
import { makeRedisAuthority, makeRedisLeaf, type TlsFiles, tlsFiles } from '../../support/redis-certificates.ts';
import { api } from '../../support/sandbox.ts';
import { until } from '../../support/wait.ts';
import { anotherPass, fileOf, letsIn, shownIn } from './looks.ts';
import type { RedisNode } from './redis-node.ts';
import { RedisWorld, type TestCluster } from './redis-world.ts';

const world = await RedisWorld.create('redis-bad');

const isRunning = ({ state }: InstanceEntry) => state === 'Running';
const says =
  (...words: readonly string[]) =>
  ({ state, message = '' }: InstanceEntry) =>
    state === 'Degraded' && words.every((word) => message.includes(word));

/** Power fails, and comes back. */
async function restarted(node: RedisNode, env: Readonly<Record<string, string>> = {}): Promise<void> {
  await node.kill9();
  node.start([], env);
  await until(async () => (await node.ask('/readyz')).status === 200, { what: `${node.name} ready again` });
}

describe.concurrent('values of spec.redis', () => {
  it('of a wrong type do not get into the API server, and are told where they did', async () => {
    const cluster = await world.cluster({ spec: { redis: { timeout: '77' }, memory: { maxMemory: '64Mi' } } });
    const node = cluster.node(0);
    await cluster.start();
    const refused: readonly (readonly [object, RegExp])[] = [
      [{ redis: { timeout: 5 } }, /spec\.redis\.timeout/],
      [{ redis: ['timeout'] }, /spec\.redis/],
      [{ memory: { maxMemory: 'lots' } }, /spec\.memory\.maxMemory/],
      [{ mode: 'chaos' }, /spec\.mode/],
      [{ authSecret: 'auth' }, /spec\.authSecret/],
      [{ authOverlap: 'soon' }, /spec\.authOverlap/],
      [{ redis: { timeout: 'x'.repeat(5000) } }, /spec\.redis\.timeout: Too long/],
    ];
    for (const [change, where] of refused) await expect(cluster.spec(change)).rejects.toThrow(where);
    await node.kill9();
    // As a server without these rules would have let it through.
    const known = join(node.folders.state, 'object.json');
    const object = JSON.parse(readFileSync(known, 'utf8')) as { readonly spec: object };
    const wrong = { redis: { timeout: 5 }, memory: { maxMemory: 'lots' }, authSecret: 'auth', authOverlap: 'soon' };
    writeFileSync(known, JSON.stringify({ ...object, spec: { ...object.spec, ...wrong } }));
    const kubeconfig = join(node.folders.projected, '..', 'dead-end');
    writeKubeconfig(kubeconfig, 'e2e', { ...cluster.access, server: 'https://127.0.0.1:9' });
    node.start([], { KUBECONFIG: kubeconfig });
    const line = await until(() => node.lines.find((text) => text.includes('SpecRefused')), { what: 'told' });
    for (const where of ['spec.redis.timeout', 'spec.memory.maxMemory', 'spec.authSecret', 'spec.authOverlap'])
      expect(line).toContain(where);
    expect(await node.config('timeout')).toBe('77');
    expect(await node.config('maxmemory')).toBe(String(64 * 1024 ** 2));
  });

  it('with blanks, quotes, NUL bytes, line breaks and foreign units: good ones count, bad ones are told, Redis starts again', async () => {
    const cluster = await world.cluster({ spec: { redis: { 'tcp-keepalive': '61' } } });
    const node = cluster.node(0);
    await cluster.start();
    const title = `{title} "it's" \\ {listen-addr}`;
    const good = { 'proc-title-template': title, 'latency-tracking-info-percentiles': '50 99.9', save: '' };
    const bad: Readonly<Record<string, readonly [value: string, words: string]>> = {
      maxmemory: ['256Mi', '256mb'],
      timeout: ['"77"', 'the quotes are part of the value'],
      hz: [' 20 ', "couldn't be parsed"],
      'tcp-keepalive': ['62\u0000', 'NUL byte'],
      'notify-keyspace-events': ['K\nE', 'line break'],
      'aclfile /etc/passwd': ['x', 'not for spec.redis'],
      'maxclients 100': ['', 'the key has a blank'],
      port: ['7000', 'not for spec.redis'],
      'hash-max-listpack-entries': ['9'.repeat(4096), "couldn't be parsed"],
    };
    await cluster.spec({
      redis: { ...good, ...Object.fromEntries(Object.entries(bad).map(([key, [value]]) => [key, value])) },
    });
    const { config = {} } = await cluster.until(node.name, (entry) => entry.config?.['save'] !== undefined, 'judged');
    for (const [key, [, words]] of Object.entries(bad)) {
      const [label] = Object.keys(config).filter((name) => name.split(' ')[0] === key.split(' ')[0]);
      expect(config[label ?? ''], key).toMatchObject({ state: 'Refused' });
      expect(config[label ?? '']?.message, key).toContain(words);
      await cluster.untilEvent('ConfigRefused', new RegExp(`spec\\.redis\\.${key.split(' ')[0]}`));
    }
    const isGood = async () => {
      for (const [key, value] of Object.entries(good)) expect(await node.config(key), key).toBe(value);
      expect(await node.config('tcp-keepalive')).toBe('61');
      expect(await node.config('timeout')).toBe('0');
    };
    await isGood();
    await restarted(node);
    await cluster.until(node.name, (entry) => entry.config?.['hz']?.state === 'Refused', 'judged again');
    await isGood();
    expect(fileOf(node, 'redis.conf')?.text).not.toMatch(/256Mi|passwd|7000|xxx/);
  });
});

describe.concurrent('files of Secrets', () => {
  const names = { authSecret: { name: 'auth' }, aclConfigSecret: { name: 'acl' } };
  const one = 'S3cret-one';
  const app = 'S3cret-app';
  const good = { auth: { password: one }, acl: { acl: `user app on >${app} ~* &* +@all` } };

  async function running(): Promise<readonly [TestCluster, RedisNode]> {
    const cluster = await world.cluster({ spec: names, secrets: good });
    const node = cluster.node(0);
    node.credentials.unshift({ user: 'default', password: one });
    await cluster.start();
    return [cluster, node];
  }

  async function isAsBefore(cluster: TestCluster, node: RedisNode): Promise<void> {
    expect(await letsIn({ path: node.socket }, one)).toBe(true);
    expect(await letsIn({ path: node.socket }, app, 'app')).toBe(true);
    expect(await letsIn({ path: node.socket }, undefined)).toBe(false);
    expect(await shownIn(cluster, [one, app, 'S3cret-bad'])).toEqual([]);
  }

  it('passwords that are empty, have a NUL byte, are no text, or cannot be read', async () => {
    const [cluster, node] = await running();
    const where = join(node.folders.projected, 'auth/password');
    const bad: readonly (readonly [Readonly<Record<string, string | Buffer>>, string])[] = [
      [{ password: '' }, 'is empty'],
      [{ password: 'S3cret-bad\0S3cret-bad' }, 'has a NUL byte'],
      [{ password: Buffer.from([0x53, 0xff, 0xfe]) }, 'is not UTF-8'],
      [{ 'password/inner': 'S3cret-bad' }, 'is a folder'],
      [{ password: 'S3cret-bad'.repeat(1_000_000) }, 'at most'],
    ];
    for (const [auth, words] of bad) {
      await node.project({ auth });
      await cluster.until(node.name, says(where, words), words);
      await cluster.untilEvent('SecretRefused', new RegExp(`auth/password.*${words}`));
    }
    await isAsBefore(cluster, node);
    expect(await node.config('masterauth')).toBe(one);
    await restarted(node);
    await isAsBefore(cluster, node);
    await node.project(good);
    await cluster.until(node.name, isRunning, 'running again');
  });

  it('an ACL of 10 MB, with NUL bytes, with rules that do not exist, or that shuts out everybody', async () => {
    const [cluster, node] = await running();
    const bad: readonly (readonly [string, string])[] = [
      ['user a on >S3cret-bad ~* +@all\n'.repeat(350_000), 'at most'],
      ['user a on >S3cret-bad ~* +@all\0', 'NUL byte'],
      ['user a on >S3cret-bad ~* +@nonsense\nuser b on %X~* >S3cret-bad\n# comment', 'line 2'],
      [`user default off\nuser app on >${app} ~* &* +@all`, 'user default is off'],
      ['let everybody in with S3cret-bad', 'line 1'],
    ];
    for (const [acl, words] of bad) {
      await node.project({ acl: { acl } });
      await cluster.until(node.name, says(join(node.folders.projected, 'acl/acl'), words), words);
      await cluster.untilEvent('ACLRefused', new RegExp(`acl/acl.*${words}`));
      expect((await cluster.entry(node.name))?.acl).toMatchObject({ state: 'Refused', users: 1 });
    }
    await isAsBefore(cluster, node);
    await restarted(node);
    await isAsBefore(cluster, node);
    expect(await node.send('ACL', 'GETUSER', 'a')).toBeNull();
  });
});

describe.concurrent('certificates', () => {
  it('without key, expired, of another authority, or garbage: the old one is served, also after a restart', async () => {
    const [authority, stranger] = await Promise.all([makeRedisAuthority(), makeRedisAuthority()]);
    const [leaf, other, foreign, late] = await Promise.all([
      makeRedisLeaf(authority),
      makeRedisLeaf(authority),
      makeRedisLeaf(stranger),
      makeRedisLeaf(authority, { untilMs: Date.now() - 60_000, fromMs: Date.now() - 120_000 }),
    ]);
    const spec = { tlsSecret: { name: 'tls' }, caSecret: { name: 'ca' } };
    const cluster = await world.cluster({ spec, tls: tlsFiles(leaf, authority) });
    const node = cluster.node(0);
    await cluster.start();
    const { 'tls.key': _, ...keyless } = tlsFiles(other, authority);
    const bad: readonly (readonly [TlsFiles, string])[] = [
      [keyless, 'tls.key'],
      [{ ...tlsFiles(other, authority), 'tls.key': leaf.key }, 'tls.key'],
      [tlsFiles(late, authority), 'expired'],
      [tlsFiles(foreign, authority), 'tls.crt'],
      [{ ...tlsFiles(other, authority), 'ca.crt': 'garbage' }, 'ca.crt'],
      [{}, 'tls.crt'],
    ];
    const isAsBefore = async () => {
      expect(await servedBy(node)).toBe(leaf.fingerprint);
      expect((await cluster.entry(node.name))?.tls).toMatchObject({ state: 'Refused', leaf: leaf.fingerprint });
    };
    let told = 0;
    for (const [files, words] of bad) {
      await node.mountTls(files as Record<string, string>);
      await until(async () => (await refusals(cluster)) > told, { what: `an Event about ${words}` });
      told = await refusals(cluster);
      await cluster.until(node.name, says(node.folders.tls, words), words);
      await isAsBefore();
    }
    await restarted(node);
    await cluster.until(node.name, ({ tls }) => tls?.state === 'Refused', 'told again');
    await isAsBefore();
    const keys = [leaf, other, foreign, late].map(({ key }) => key.slice(60, 120));
    expect(await shownIn(cluster, keys)).toEqual([]);
    await node.mountTls(tlsFiles(other, authority));
    await cluster.until(node.name, ({ tls }) => tls?.leaf === other.fingerprint, 'with good ones');
  });
});

const refusals = async (cluster: TestCluster): Promise<number> =>
  (await cluster.events()).filter(({ reason }) => reason === 'CertificatesRefused').length;

/** The fingerprint of the certificate that a Redis shows. */
const servedBy = ({ address: host }: RedisNode): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect({ host, port: 6379, rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate().fingerprint256.replaceAll(':', '').toLowerCase());
      socket.destroy();
    });
    socket.on('error', reject);
  });

describe.concurrent('the world', () => {
  it('without the RedisCluster: Redis goes on, also after a restart, and follows a new one', async () => {
    const spec = { authSecret: { name: 'auth' }, redis: { timeout: '77' } };
    const cluster = await world.cluster({ spec, secrets: { auth: { password: 'one' } } });
    const node = cluster.node(0);
    node.credentials.unshift({ user: 'default', password: 'one' });
    await cluster.start();
    await node.send('SET', 'colour', 'green');
    const [pid] = node.servers;
    await cluster.delete();
    await until(() => node.lines.some((line) => line.includes('is deleted: Redis is left as it is')), { what: 'told' });
    await anotherPass(node);
    expect(node.servers).toEqual([pid]);
    await restarted(node);
    expect(await node.config('timeout')).toBe('77');
    expect(await node.send('GET', 'colour')).toBe('green');
    expect(await letsIn({ path: node.socket }, undefined)).toBe(false);
    await api().create(`/apis/redis.io/v1/namespaces/${cluster.namespace}/redisclusters`, {
      apiVersion: 'redis.io/v1',
      kind: 'RedisCluster',
      metadata: { name: cluster.name },
      spec: { ...spec, redis: { timeout: '78' } },
    });
    await cluster.until(node.name, isRunning, 'known again');
    expect(await node.config('timeout')).toBe('78');
  });

  it('with a Redis that hangs: told as not connected, kept, and in order when it answers again', async () => {
    const cluster = await world.cluster({ spec: { redis: { timeout: '77' } } });
    const node = cluster.node(0);
    await cluster.start();
    await node.send('SET', 'colour', 'green');
    const [pid = 0] = node.servers;
    process.kill(pid, 'SIGSTOP');
    await cluster.spec({ redis: { timeout: '78' } });
    const { connected } = await cluster.until(node.name, says('Redis: ', 'does not answer'), 'told');
    expect(connected).toBe(false);
    await cluster.untilEvent('RedisUnreachable', /does not answer/);
    expect((await node.ask('/healthz')).status).toBe(200);
    await node.signal('SIGKILL');
    node.start();
    await until(() => node.lines.some((line) => line.includes('runs already, and is kept')), { what: 'adopted' });
    process.kill(pid, 'SIGCONT');
    await cluster.until(node.name, isRunning, 'running again');
    expect(node.servers).toEqual([pid]);
    expect(await node.send('GET', 'colour')).toBe('green');
    expect(await node.config('timeout')).toBe('78');
  });
});
