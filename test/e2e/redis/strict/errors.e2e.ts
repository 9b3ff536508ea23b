import { expect, it } from 'vitest';
import { makeRedisAuthority, makeRedisLeaf, tlsFiles } from '../../../support/redis-certificates.ts';
import { api } from '../../../support/sandbox.ts';
import { until } from '../../../support/wait.ts';
import { RedisWorld } from '../redis-world.ts';
import { CommandLog, INFO, isMarked, mark, passed, said, startAll, strictCluster, untilSaid } from './strict-pods.ts';

const world = await RedisWorld.create('redis-strict-errors');
const FAILED = /pass failed/;

it('§1.2 fetch: without the object a pass fails, nothing runs, and it is tried again', async () => {
  const cluster = await strictCluster(world);
  const node = cluster.node(0);
  const { kind, apiVersion, metadata, spec } = await cluster.get();
  await cluster.delete();
  node.start();
  await untilSaid(node, /pass failed.*does not exist/, 2);
  expect(node.servers).toEqual([]);

  const path = `/apis/redis.io/v1/namespaces/${cluster.namespace}/redisclusters`;
  await api().create(path, { kind, apiVersion, metadata: { name: metadata.name }, spec });
  await cluster.status({ currentPrimary: node.name });
  await cluster.until(node.name, ({ connected }) => connected === true, 'runs');

  const log = await CommandLog.of(node);
  await log.quiet();
  const { servers } = node;
  const before = said(node, FAILED);
  await cluster.delete();
  await untilSaid(node, FAILED, before + 2);
  expect(await log.words()).toEqual([]);
  expect(node.servers).toEqual(servers);
});

it('§1.2 fencing cannot fail: an annotation that cannot be read fences nobody, and the pass goes on', async () => {
  const cluster = await strictCluster(world);
  const node = cluster.node(0);
  await startAll(cluster);
  const { servers } = node;
  for (const words of [`${node.name}`, `{"${node.name}":true}`, `["${node.name}",1]`, `"${node.name}"`, '']) {
    await cluster.annotate({ 'redis.io/fencedInstances': words });
    await passed(cluster, node);
  }
  expect(node.servers).toEqual(servers);
  expect(await cluster.reasons()).toEqual([]);
  expect(said(node, FAILED)).toBe(0);
});

it('§1.2 role is fatal: configuration, secrets, certificates and status are skipped, and it is tried again', async () => {
  const authority = await makeRedisAuthority();
  const tls = { tlsSecret: { name: 'tls' }, caSecret: { name: 'ca' } };
  const cluster = await strictCluster(world, {
    spec: { ...tls, redis: { hz: '11' }, authSecret: { name: 'auth' } },
    secrets: { auth: { password: 'one' } },
    tls: tlsFiles(await makeRedisLeaf(authority), authority),
  });
  const node = cluster.node(0);
  node.credentials.unshift({ user: 'default', password: 'two' }, { user: 'default', password: 'one' });
  await startAll(cluster);
  const log = await CommandLog.of(node);
  await cluster.status({ currentPrimary: 'nobody' });
  await untilSaid(node, /pass failed.*nobody/, 1);
  await log.clear();
  await node.project({ auth: { password: 'two' } });
  await node.mountTls(tlsFiles(await makeRedisLeaf(authority), authority));
  await cluster.spec({ redis: { hz: '12' } });
  await cluster.status(mark(node));
  const before = said(node, FAILED);
  await untilSaid(node, FAILED, before + 3);
  expect(new Set(await log.words())).toEqual(new Set([INFO]));
  expect(await node.config('hz')).toBe('11');
  expect(await node.config('requirepass')).toBe('one');
  expect(await isMarked(cluster, node)).toBe(true);

  await cluster.status({ currentPrimary: node.name });
  await until(async () => !(await isMarked(cluster, node)), { what: 'a whole pass' });
  expect([await node.config('hz'), await node.config('requirepass')]).toEqual(['12', 'two']);
  await cluster.untilEvent('CertificatesRotated');
});

it('§1.2 config, secrets, TLS are not fatal: each is logged, and what comes after it goes on', async () => {
  const authority = await makeRedisAuthority();
  const leaf = async () => tlsFiles(await makeRedisLeaf(authority), authority);
  const tls = { tlsSecret: { name: 'tls' }, caSecret: { name: 'ca' } };
  const cluster = await strictCluster(world, {
    spec: { ...tls, authSecret: { name: 'auth' } },
    secrets: { auth: { password: 'one' } },
    tls: await leaf(),
  });
  const node = cluster.node(0);
  for (const password of ['one', 'two']) node.credentials.unshift({ user: 'default', password });
  await startAll(cluster);
  const log = await CommandLog.of(node);

  // The configuration fails: secrets, certificates and status follow.
  await node.project({ auth: { password: 'two' } });
  await node.mountTls(await leaf());
  await cluster.spec({ redis: { hz: 'many' } });
  await passed(cluster, node);
  expect(said(node, /level=error.*config could not be reconciled/)).toBeGreaterThan(0);
  expect(await node.config('requirepass')).toBe('two');
  expect((await cluster.untilEvent('CertificatesRotated'))['count']).toBe(1);

  // Secrets fail: certificates and status follow.
  expect(said(node, /secrets could not be reconciled/)).toBe(0);
  await log.clear();
  await node.mountTls(await leaf());
  await cluster.spec({ redis: null, authSecret: { name: 'never-projected' } });
  await passed(cluster, node);
  expect(said(node, /level=error.*secrets could not be reconciled.*never-projected\/password/)).toBeGreaterThan(0);
  expect(await log.words()).toContain(`CONFIG SET tls-ca-cert-file ${node.folders.tls}/ca.crt`);
  expect(await node.config('requirepass')).toBe('two');

  // Certificates fail: the status follows.
  const [one, other] = [await leaf(), await leaf()];
  expect(said(node, /TLS could not be reconciled/)).toBe(0);
  await node.mountTls({ ...one, 'tls.key': other['tls.key'] });
  await passed(cluster, node);
  expect(said(node, /level=error.*TLS could not be reconciled/)).toBeGreaterThan(0);
  expect(said(node, FAILED)).toBe(0);
  expect(node.lines.join('\n')).not.toMatch(/PRIVATE KEY|error=[^"]*\btwo\b/);
});

it('§1.2 status is fatal: a pass that may not write it fails, and is tried again until it may', async () => {
  const cluster = await strictCluster(world);
  const node = cluster.node(0);
  await startAll(cluster);
  const path = `/apis/rbac.authorization.k8s.io/v1/namespaces/${cluster.namespace}/roles/${cluster.name}`;
  const { rules } = await api().get(path);
  const isStatus = ({ resources }: { readonly resources: readonly string[] }) =>
    resources.includes('redisclusters/status');
  await api().patch(path, { rules: rules.filter((rule: never) => !isStatus(rule)) });
  const own = `/apis/redis.io/v1/namespaces/${cluster.namespace}/redisclusters/${cluster.name}/status?dryRun=All`;
  await until(
    () =>
      api(cluster.access)
        .patch(own, {})
        .then(
          () => false,
          () => true,
        ),
    { what: 'the right is gone' },
  );
  await cluster.spec({ redis: { hz: '12' } });
  await cluster.status(mark(node));
  await untilSaid(node, FAILED, 2);
  // Whatever comes before it has been done.
  expect(await node.config('hz')).toBe('12');
  expect(await isMarked(cluster, node)).toBe(true);
  await api().patch(path, { rules });
  await until(async () => !(await isMarked(cluster, node)), { what: 'the status, though nothing has changed' });
});
