import { readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { loopbackAddress, startRedis } from '../../../support/redis-process.ts';
import { until } from '../../../support/wait.ts';
import { RedisWorld } from '../redis-world.ts';
import { AT_ONCE, CommandLog, passed, replication, said, startAll, strictCluster, untilSaid } from './strict-pods.ts';

const world = await RedisWorld.create('redis-strict-secrets');
const PASS = 'CONFIG SET requirepass (redacted)';
const AUTH = 'CONFIG SET masterauth (redacted)';
const LOAD = 'ACL LOAD';
const secretCommands = (words: readonly string[]) => words.filter((line) => !line.startsWith('INFO'));

const users = async (node: { send(...words: string[]): Promise<unknown> }) =>
  ((await node.send('ACL', 'LIST')) as readonly string[]).map((line) => line.split(' ')[1]).toSorted();

it('S1, S2, S3, S5, S6, S7 password, users, then masterauth, from files by their paths; the first failure ends the step', async () => {
  const everything = '~* &* +@all';
  const acl = (...lines: readonly string[]) => ({
    acl: [`user default on >one ${everything}`, ...lines, '', ''].join('\n'),
  });
  const cluster = await strictCluster(world, {
    spec: { authSecret: { name: 'auth' }, aclConfigSecret: { name: 'acl' } },
    secrets: { auth: { password: 'one\n' }, acl: acl(`user shop on >shop ${everything}`) },
  });
  const node = cluster.node(0);
  for (const password of ['one', 'two', 'three']) node.credentials.unshift({ user: 'default', password });
  const aclFile = join(dirname(node.folders.data), 'own', 'users');
  node.start([], { REDIS_OPERATOR_ACL_FILE_PATH: aclFile });
  await cluster.until(node.name, ({ connected }) => connected === true, 'runs');
  const log = await CommandLog.of(node);
  await log.quiet();

  // S1, S2, S3: the file is where the variable says, for this user alone.
  expect(await node.config('requirepass')).toBe('one');
  expect(await users(node)).toEqual(['default', 'shop']);
  expect(await readFile(aclFile, 'utf8')).toBe(`${acl(`user shop on >shop ${everything}`).acl.trim()}\n`);
  expect((await stat(aclFile)).mode & 0o777).toBe(0o600);
  expect(await node.config('aclfile')).toBe(aclFile);
  // S5: in standard mode it is cleared, though there is a password.
  expect(await node.config('masterauth')).toBe('');

  // S6: the order; S2, S3: what is new counts.
  await node.project({
    auth: { password: 'two' },
    acl: { acl: `user default on >two ${everything}\nuser news on >n +@all` },
  });
  await log.clear();
  await cluster.annotate({ colour: 'green' });
  expect(secretCommands(await log.pass())).toEqual([PASS, AUTH, LOAD, AUTH]);
  expect(await node.config('requirepass')).toBe('two');
  expect(await users(node)).toEqual(['default', 'news']);

  // S6: users that Redis refuses: masterauth is still the password, nothing is cleared.
  await log.quiet();
  await node.project({ auth: { password: 'three' }, acl: { acl: 'user news on hunter2 +@all' } });
  await cluster.annotate({ colour: 'blue' });
  expect(secretCommands(await log.pass())).toEqual([PASS, AUTH, LOAD]);
  expect(await node.config('masterauth')).toBe('three');
  await untilSaid(node, /secrets could not be reconciled/);
  expect(await users(node)).toEqual(['default', 'news']);

  // S6: no password: nothing at all.
  await cluster.spec({ authSecret: { name: 'never-projected' } });
  await passed(cluster, node);
  await log.clear();
  await passed(cluster, node);
  expect(secretCommands(await log.words())).toEqual([]);
  // S7
  expect(await cluster.reasons()).toEqual([]);
  expect(node.lines.join('\n')).not.toMatch(/hunter2|password=/);
});

it('S2 the agent comes in after it was killed, and opens writes that it had closed to stop Redis', async () => {
  const cluster = await strictCluster(world, {
    spec: { authSecret: { name: 'auth' } },
    secrets: { auth: { password: 'one' } },
  });
  const node = cluster.node(0);
  for (const password of ['one', 'two']) node.credentials.unshift({ user: 'default', password });
  await startAll(cluster);
  const { servers } = node;
  await node.signal('SIGKILL');
  await writeFile(join(node.folders.state, 'fence.json'), JSON.stringify({ fenced: false, before: '0' }));
  await node.send('CONFIG', 'SET', 'min-replicas-to-write', '1000');
  node.start();
  await passed(cluster, node);
  expect(node.servers).toEqual(servers);
  expect(await node.send('SET', 'colour', 'green')).toBe('OK');
  const log = await CommandLog.of(node);
  // Its connection breaks between one password and the next; a pass that were cut off in the middle would fail.
  await log.quiet();
  await node.project({ auth: { password: 'two' } });
  await node.send('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
  await passed(cluster, node);
  expect(await node.config('requirepass')).toBe('two');
  await log.quiet();
  await node.send('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
  await passed(cluster, node);
  expect(said(node, /pass failed/)).toBe(0);
});

it('S4, S5 replica mode: the password of the source wins over the own one; without it the own one stays', async () => {
  const host = loopbackAddress();
  await using source = await startRedis({ host, directives: [['requirepass', 'upstream'], AT_ONCE] });
  await source.send('SET', 'colour', 'green');
  const cluster = await strictCluster(world, {
    spec: { authSecret: { name: 'auth' }, replicaMode: { enabled: true, source: { host, authSecretName: 'up' } } },
    secrets: { auth: { password: 'one' }, up: { password: 'upstream' } },
  });
  const node = cluster.node(0);
  node.credentials.unshift({ user: 'default', password: 'one' });
  await startAll(cluster);
  const log = await CommandLog.of(node);
  expect([await node.config('requirepass'), await node.config('masterauth')]).toEqual(['one', 'upstream']);
  await until(async () => (await node.send('GET', 'colour')) === 'green', { what: 'the data of the source' });
  await passed(cluster, node);
  expect(await cluster.entry(node.name)).toMatchObject({ role: 'slave', masterLinkStatus: 'up' });
  await log.quiet();
  await cluster.annotate({ colour: 'green' });
  expect(secretCommands(await log.pass())).toEqual([PASS, AUTH, AUTH]);

  await cluster.spec({ replicaMode: { source: { authSecretName: null } } });
  await passed(cluster, node);
  expect(await node.config('masterauth')).toBe('one');
  expect(await replication(node)).toMatchObject({ role: 'slave', master_host: host });

  // Without replica mode it is cleared, be there a password or not.
  await cluster.spec({ replicaMode: null, authSecret: null });
  await cluster.until(node.name, ({ role }) => role === 'master', 'primary');
  await until(async () => (await node.config('masterauth')) === '', { what: 'no masterauth' });
});
