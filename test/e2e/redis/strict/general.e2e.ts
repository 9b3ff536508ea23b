import { readdir } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { parseAgentSettings } from '../../../../src/config/agent-settings.ts';
import { makeRedisAuthority, makeRedisLeaf, tlsFiles } from '../../../support/redis-certificates.ts';
import { api } from '../../../support/sandbox.ts';
import { auditOf, RedisWorld } from '../redis-world.ts';
import { CommandLog, IMPATIENT, INFO, passed, said, startAll, strictCluster } from './strict-pods.ts';

const world = await RedisWorld.create('redis-strict-general');

it('G1, G5, G6, G7 one in each pod, which reports by its POD_NAME and asks the API for little, and for no Secret', async () => {
  const cluster = await strictCluster(world, {
    pods: 2,
    spec: { authSecret: { name: 'auth' }, redis: { hz: '11' } },
    secrets: { auth: { password: 'from-a-file' } },
  });
  for (const node of cluster.nodes) node.credentials.unshift({ user: 'default', password: 'from-a-file' });
  await startAll(cluster);
  for (const node of cluster.nodes) {
    expect(said(node, /instance-reconciler/)).toBe(1);
    expect(await node.config('requirepass')).toBe('from-a-file');
  }
  await cluster.untilEvent('ConfigReloaded', new RegExp(cluster.node(1).name));
  const { namespace: space, name } = cluster;
  const mine = /^\/(?:api|apis\/[^/]+)\/v1\/namespaces\/([^/]+)\/([^/?]+)(?:\/([^/?]+))?(\/status)?(?:\?|$)/;
  const asked = auditOf(`system:serviceaccount:${space}:${name}`).map(({ verb, requestURI }) => {
    const [, within, resource, object, status = ''] = mine.exec(requestURI) ?? [];
    expect(within, requestURI).toBe(space);
    // A list and a watch are of one name alone.
    if (object === undefined && resource === 'redisclusters') expect(requestURI).toContain(`metadata.name%3D${name}`);
    return `${verb} ${resource}${status}`;
  });
  const allowed = ['get', 'list', 'watch'].map((verb) => `${verb} redisclusters`);
  allowed.push('patch redisclusters/status', 'get pods', 'create events', 'patch events');
  expect(allowed).toEqual(expect.arrayContaining([...new Set(asked)]));
  expect(asked).toContain('watch redisclusters');
  expect(asked).toContain('patch redisclusters/status');
  expect(asked).toContain('get pods');
  const secrets = `/api/v1/namespaces/${space}/secrets`;
  await expect(api(cluster.access).get(`${secrets}/auth`)).rejects.toThrow('403');
});

it('G2, G3, G4 a change of spec, metadata or status makes one pass of all steps in their order; nothing else does', async () => {
  const authority = await makeRedisAuthority();
  const cluster = await strictCluster(world, {
    spec: {
      redis: { hz: '11' },
      authSecret: { name: 'auth' },
      aclConfigSecret: { name: 'acl' },
      tlsSecret: { name: 'tls' },
      caSecret: { name: 'ca' },
    },
    secrets: { auth: { password: 'one' }, acl: { acl: 'user default on >one ~* &* +@all' } },
    tls: tlsFiles(await makeRedisLeaf(authority), authority),
    flags: IMPATIENT,
  });
  const node = cluster.node(0);
  node.credentials.unshift({ user: 'default', password: 'two' }, { user: 'default', password: 'one' });
  await startAll(cluster);
  await passed(cluster, node);
  const log = await CommandLog.of(node);
  await log.quiet();

  // No clock, no file, and no connection that breaks.
  await node.mountTls(tlsFiles(await makeRedisLeaf(authority), authority));
  await node.project({
    auth: { password: 'two' },
    acl: { acl: 'user default on >two ~* &* +@all\nuser new on >new +@all' },
  });
  await node.send('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
  expect(await log.silence()).toEqual([]);
  expect(await node.config('requirepass')).toBe('one');

  await log.clear();
  await cluster.annotate({ colour: 'green' });
  const files = ['cert', 'key', 'ca-cert'].map((word) => `tls-${word}-file`);
  const [crt, key, ca] = ['tls.crt', 'tls.key', 'ca.crt'].map((file) => `${node.folders.tls}/${file}`);
  expect(await log.pass()).toEqual([
    INFO,
    'CONFIG SET hz 11',
    'CONFIG SET requirepass (redacted)',
    'CONFIG SET masterauth (redacted)',
    'ACL LOAD',
    'CONFIG SET masterauth (redacted)',
    `CONFIG SET ${files[0]} ${crt}`,
    `CONFIG SET ${files[1]} ${key}`,
    `CONFIG SET ${files[2]} ${ca}`,
    INFO,
  ]);
  await log.quiet();

  const steps = ['CONFIG SET hz 12', 'CONFIG SET requirepass (redacted)', 'CONFIG SET masterauth (redacted)'];
  const pass = [INFO, ...steps, 'ACL LOAD', 'CONFIG SET masterauth (redacted)', INFO];
  await log.clear();
  await cluster.spec({ redis: { hz: '12' } });
  expect(await log.pass()).toEqual(pass);
  await log.quiet();

  await cluster.status({ phase: 'Healthy' });
  expect(await log.pass()).toEqual(pass);
});

it('§1.9 environment, files and the component of Events are those of the table', async () => {
  const names = { CLUSTER_NAME: 'redis', POD_NAME: 'redis-0', POD_NAMESPACE: 'shop' };
  const usual = parseAgentSettings(['--compat=strict'], names);
  const paths = { dataDir: '/data', secretsDir: '/projected', aclFile: '/data/users.acl', tlsDir: '/tls' };
  expect(usual).toMatchObject({ settings: { podName: 'redis-0', strict: true, paths } });
  const env = { REDIS_OPERATOR_PROJECTED_SECRETS_DIR: '/s', REDIS_OPERATOR_ACL_FILE_PATH: '/a/users' };
  const other = parseAgentSettings(['--compat=strict'], { ...names, ...env });
  expect(other).toMatchObject({ settings: { paths: { secretsDir: '/s', aclFile: '/a/users' } } });

  const cluster = await strictCluster(world, { spec: { redis: { hz: '11', databases: '5' } } });
  const node = cluster.node(0);
  await startAll(cluster);
  await node.send('SET', 'colour', 'green');
  await node.send('SAVE');
  expect(await readdir(node.folders.data)).toEqual(expect.arrayContaining(['dump.rdb', 'appendonlydir']));
  expect(await node.config('databases')).toBe('5');
  const component = 'redis-operator-instance';
  expect(await cluster.untilEvent('ConfigReloaded')).toMatchObject({
    source: { component },
    reportingComponent: component,
    involvedObject: { kind: 'RedisCluster', name: cluster.name, apiVersion: 'redis.io/v1' },
  });
});

it('G6 without a POD_NAME there is no agent', async () => {
  const cluster = await strictCluster(world);
  const node = cluster.node(0);
  node.start([], { POD_NAME: '' });
  expect(await node.ended).toBe(1);
  expect(said(node, /POD_NAME, is missing/)).toBe(1);
  expect(node.servers).toEqual([]);
});
