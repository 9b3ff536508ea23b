import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:tls';
import { expect, it } from 'vitest';
import { parseAgentSettings } from '../../../../src/config/agent-settings.ts';
import { makeRedisAuthority, makeRedisLeaf, tlsFiles } from '../../../support/redis-certificates.ts';
import type { RedisNode } from '../redis-node.ts';
import { RedisWorld } from '../redis-world.ts';
import { CommandLog, LOG_ALL, passed, said, startAll, strictCluster } from './strict-pods.ts';

const world = await RedisWorld.create('redis-strict-tls');
const KEYS = ['tls-cert-file', 'tls-key-file', 'tls-ca-cert-file'];
const FILES = ['tls.crt', 'tls.key', 'ca.crt'];

/** SHA-256 of the certificate that Redis serves now. */
async function served({ address: host }: RedisNode): Promise<string> {
  const socket = connect({ host, port: 6379, rejectUnauthorized: false });
  try {
    await once(socket, 'secureConnect');
    return new X509Certificate(socket.getPeerCertificate().raw).fingerprint256.replaceAll(':', '').toLowerCase();
  } finally {
    socket.destroy();
  }
}

it('T1, T2, T3, T4 files that have changed are named to Redis anew, one after the other; the first pass only looks', async () => {
  const names = { CLUSTER_NAME: 'redis', POD_NAME: 'redis-0', POD_NAMESPACE: 'shop' };
  expect(parseAgentSettings([], names)).toMatchObject({ settings: { paths: { tlsDir: '/tls' } } });

  const authority = await makeRedisAuthority();
  const leaf = () => makeRedisLeaf(authority);
  const [first, second, third, fourth] = await Promise.all([leaf(), leaf(), leaf(), leaf()]);
  const cluster = await strictCluster(world, {
    spec: { tlsSecret: { name: 'tls' }, caSecret: { name: 'ca' }, redis: LOG_ALL },
    tls: tlsFiles(first, authority),
  });
  const node = cluster.node(0);
  await startAll(cluster);
  const log = await CommandLog.sinceStart(node);
  const files = FILES.map((file) => `${node.folders.tls}/${file}`);
  const sets = KEYS.map((key, at) => `CONFIG SET ${key} ${files[at]}`);
  const tlsCommands = async () => (await log.words()).filter((words) => words.includes('tls-'));

  // T1, T2: Redis has them from its start; since then nothing was set, and nothing told.
  expect(await Promise.all(KEYS.map((key) => node.config(key)))).toEqual(files);
  expect(await served(node)).toBe(first.fingerprint);
  await passed(cluster, node);
  expect(await log.words()).toContain('CONFIG SET slowlog-max-len 10000');
  expect(await tlsCommands()).toEqual([]);
  expect(await cluster.reasons()).not.toContain('CertificatesRotated');

  // T3, T4
  await node.mountTls(tlsFiles(second, authority));
  await passed(cluster, node);
  expect(await tlsCommands()).toEqual(sets);
  expect(await served(node)).toBe(second.fingerprint);
  expect(await cluster.untilEvent('CertificatesRotated', new RegExp(node.name))).toMatchObject({
    type: 'Normal',
    count: 1,
  });
  await passed(cluster, node);
  expect(await tlsCommands()).toEqual(sets);

  // T4: a pair that does not fit is refused, in each pass anew, and Redis keeps what it has.
  await log.clear();
  await node.mountTls({ ...tlsFiles(third, authority), 'tls.key': fourth.key });
  await passed(cluster, node);
  const failures = said(node, /TLS could not be reconciled/);
  expect(failures).toBeGreaterThan(0);
  await passed(cluster, node);
  expect(said(node, /TLS could not be reconciled/)).toBeGreaterThan(failures);
  expect(new Set(await tlsCommands())).toEqual(new Set(sets.slice(0, 1)));
  expect(await served(node)).toBe(second.fingerprint);

  // T3: one of the three is enough.
  await node.mountTls(tlsFiles(third, authority));
  await passed(cluster, node);
  expect(await served(node)).toBe(third.fingerprint);
  await log.clear();
  await node.mountTls(tlsFiles(third, authority, await makeRedisAuthority()));
  await passed(cluster, node);
  expect(await tlsCommands()).toEqual(sets);
  const counted = async () => (await cluster.untilEvent('CertificatesRotated'))['count'];
  await expect.poll(counted, { timeout: 25_000 }).toBe(3);
});
