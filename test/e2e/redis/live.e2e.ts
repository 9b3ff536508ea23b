import { setTimeout as delay } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { makeRedisAuthority, makeRedisLeaf, tlsFiles } from '../../support/redis-certificates.ts';
import { rounds } from '../../support/soak.ts';
import { until } from '../../support/wait.ts';
import { LinkWatch, Load, type LoadClient, syncsOf } from './load.ts';
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
import { RedisWorld } from './redis-world.ts';

const world = await RedisWorld.create('redis-live');

/** The kubelet brings files to each pod at another time. */
const APART_MS = rounds(1000, 5000);

const acl = (batchRules: string): string =>
  [
    'user app on >app-word ~load:* +@read +@write +@connection',
    'user reader on >reader-word ~load:* +@read +@connection',
    `user batch on >batch-word ${batchRules}`,
  ].join('\n');
const BATCH = '~load:* +@read +@write +@connection';
const BATCH_LATER = '~load:* ~batch:* +@read +@write +@connection +@list';

/** Brings files to one pod after the other. */
async function oneByOne(nodes: readonly RedisNode[], bring: (node: RedisNode) => Promise<void>): Promise<void> {
  for (const [at, node] of nodes.entries()) {
    // Between two pods only: after the last one the overlap begins, in which clients have to learn.
    if (at > 0) await delay(APART_MS);
    await bring(node);
  }
}

it('maxmemory, password, ACL, leaf and CA change under load: no failed command, no connection and no link lost', async () => {
  const [oldCa, newCa] = [await makeRedisAuthority(), await makeRedisAuthority()];
  const [first, second, third] = [await makeRedisLeaf(oldCa), await makeRedisLeaf(oldCa), await makeRedisLeaf(newCa)];
  const cluster = await world.cluster({
    pods: 3,
    spec: {
      ...PASSWORD_SPEC,
      ...TLS_SPEC,
      aclConfigSecret: { name: 'users' },
      authOverlap: '6s',
      redis: { maxmemory: '64mb' },
    },
    secrets: { ...passwordSecrets('one'), users: { acl: acl(BATCH) } },
    tls: tlsFiles(first, oldCa),
  });
  const [primary, ...replicas] = cluster.nodes as [RedisNode, RedisNode, RedisNode];
  for (const node of cluster.nodes) {
    node.credentials.unshift({ user: 'default', password: 'two' });
    node.credentials.unshift({ user: 'default', password: 'one' });
  }
  await cluster.start();
  await untilLinked(cluster);
  const servers = cluster.nodes.map((node) => node.servers);

  // What each of them knows: the one learns of a new password as soon as every pod accepts it, the other at the last.
  const eager = { password: 'one' };
  const late = { password: 'one' };
  const ca = `${oldCa.cert}${newCa.cert}`;
  const as = (user: string) => () => ({ user, password: `${user}-word` });
  const clients: readonly LoadClient[] = [
    {
      name: 'stays',
      node: primary,
      ca,
      writes: true,
      credential: () => ({ user: 'default', password: late.password }),
    },
    { name: 'eager', node: primary, ca, writes: true, turns: 7, credential: () => ({ user: 'default', ...eager }) },
    { name: 'late', node: primary, ca, writes: true, turns: 5, credential: () => ({ user: 'default', ...late }) },
    { name: 'app', node: primary, ca, writes: true, credential: as('app') },
    { name: 'app-anew', node: primary, ca, writes: true, turns: 9, credential: as('app') },
    { name: 'batch', node: primary, ca, writes: true, credential: as('batch') },
    { name: 'reader', node: replicas[0], ca, writes: false, credential: as('reader') },
    {
      name: 'eager-reader',
      node: replicas[1],
      ca,
      writes: false,
      turns: 6,
      credential: () => ({ user: 'default', ...eager }),
    },
  ];
  const load = new Load();
  const links = new LinkWatch(replicas);
  onTestFinished(async () => void (await Promise.all([load.stop(), links.stop()])));
  const syncs = await syncsOf(primary);
  links.start();
  await load.start(clients);

  await cluster.spec({ redis: { maxmemory: '128mb' } });
  for (const node of cluster.nodes)
    await until(async () => (await node.config('maxmemory')) === String(128 * 2 ** 20), { what: `${node.name} 128mb` });
  expect(load.failures, 'maxmemory').toEqual([]);

  await oneByOne([...replicas, primary], (node) => node.project(passwordSecrets('two')));
  await untilPassword(cluster, 'two', 'Accepted');
  eager.password = 'two';
  await untilPassword(cluster, 'two', 'Used');
  late.password = 'two';
  await untilPassword(cluster, 'two', 'Settled');
  for (const node of cluster.nodes) expect([await opens(node, 'two'), await opens(node, 'one')]).toEqual([true, false]);
  expect(load.failures, 'password').toEqual([]);

  await oneByOne(cluster.nodes, (node) => node.project({ users: { acl: acl(BATCH_LATER) } }));
  for (const node of cluster.nodes)
    await until(async () => (await rulesOf(node, 'batch')).includes('~batch:*'), { what: `${node.name}: batch` });
  expect(load.failures, 'ACL').toEqual([]);

  await oneByOne([...replicas, primary], (node) => node.mountTls(tlsFiles(second, oldCa)));
  for (const { name } of cluster.nodes)
    await cluster.until(name, ({ tls }) => tls?.leaf === second.fingerprint, 'leaf');
  for (const node of cluster.nodes) expect(await leafOf(node, oldCa)).toBe(second.fingerprint);
  expect(load.failures, 'leaf').toEqual([]);

  await oneByOne([primary, ...replicas], (node) => node.mountTls(tlsFiles(third, newCa)));
  await untilTrust(cluster, newCa, 'Served');
  await untilTrust(cluster, newCa, 'Settled');
  expect(load.failures, 'CA').toEqual([]);
  for (const { name } of cluster.nodes)
    expect((await cluster.entry(name))?.tls).toMatchObject({ leaf: third.fingerprint, trusted: [newCa.fingerprint] });
  for (const node of cluster.nodes) {
    expect(await leafForReplica(node, third, newCa)).toBe(third.fingerprint);
    await expect(leafForReplica(node, second, newCa)).rejects.toThrow('Redis refuses this certificate');
  }

  const counted = { commands: load.commands, connects: load.connects };
  await load.stop();
  await links.stop();
  expect(load.failures).toEqual([]);
  expect(counted.commands).toBeGreaterThan(1000);
  expect(counted.connects).toBeGreaterThan(clients.length);
  expect(links.downs).toEqual([]);
  expect(links.looks).toBeGreaterThan(10);
  expect(await syncsOf(primary)).toEqual(syncs);
  expect(cluster.nodes.map((node) => node.servers)).toEqual(servers);
  for (const node of cluster.nodes) {
    const entry = await cluster.entry(node.name);
    expect(entry).toMatchObject({
      state: 'Running',
      config: { maxmemory: { state: 'Applied', value: String(128 * 2 ** 20) } },
      credentials: { phase: 'Settled' },
      acl: { state: 'Applied', users: 3 },
      tls: { state: 'Applied', phase: 'Settled' },
    });
  }
  expect(await cluster.reasons()).not.toContain('CertificatesRefused');
});

const rulesOf = async (node: RedisNode, user: string): Promise<string> =>
  ((await node.send('ACL', 'LIST')) as readonly string[]).find((line) => line.startsWith(`user ${user} `)) ?? '';
