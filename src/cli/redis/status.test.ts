import { afterAll, beforeEach, expect, it } from 'vitest';
import { commandLine } from '../../../test/e2e/cli/run.ts';
import { listOf, scriptedApi } from '../../../test/support/scripted-api.ts';

const CLUSTERS = '/apis/redis.io/v1/namespaces/shop/redisclusters';

/** The RedisClusters of namespace shop; undefined: the kind is not known. */
let clusters: readonly { readonly metadata: { readonly name: string; readonly annotations?: object } }[] | undefined =
  [];
/** What is asked about a pod. */
let pod: 200 | 403 | 404 = 200;
beforeEach(() => {
  clusters = [];
  pod = 200;
});

const api = await scriptedApi(({ verb, path, json, status }) => {
  if (path.includes('/pods/')) {
    return pod === 200 ? json(200, { metadata: {} }) : status(pod, pod === 403 ? 'Forbidden' : 'NotFound');
  }
  if (path === '/api/v1/namespaces/shop') return json(200, { metadata: { name: 'shop' } });
  const named = clusters?.find(({ metadata }) => path === `${CLUSTERS}/${metadata.name}`);
  if (path === CLUSTERS && verb === 'list' && clusters) json(200, listOf(clusters, '1'));
  else if (named) json(200, named);
  else status(404, 'NotFound');
});
afterAll(() => api[Symbol.asyncDispose]());
const attune = commandLine({ server: api.connection.server.origin, authority: '', token: 'test' });
const redisStatus = (...argv: readonly string[]) => attune('redis', 'status', '-n', 'shop', ...argv);

const cluster = (name: string, state = 'Running') => ({
  metadata: { namespace: 'shop', name, uid: name, resourceVersion: '1', generation: 1 },
  spec: {},
  status: {
    currentPrimary: `${name}-0`,
    instancesStatus: { [`${name}-0`]: { role: 'master', connected: true, state, keys: 3 } },
  },
});

it('the only one is told whole', async () => {
  clusters = [cluster('redis')];
  expect(await redisStatus()).toEqual({
    code: 0,
    stdout: expect.stringMatching(/^RedisCluster shop\/redis\n/),
    stderr: '',
  });
});

it('several are a list, and each can be named, also with its kind', async () => {
  clusters = [cluster('one'), cluster('two', 'Degraded')];
  expect(await redisStatus()).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/^NAME .*\none .*fine\ntwo .*Degraded/),
  });
  expect(await redisStatus('one')).toMatchObject({ code: 0, stdout: expect.stringContaining('shop/one') });
  expect(await redisStatus('rdc/two')).toMatchObject({ code: 1, stdout: expect.stringContaining('shop/two') });
});

it('for programs: the same facts', async () => {
  clusters = [cluster('redis')];
  const { stdout } = await redisStatus('redis', '-o', 'json');
  expect(JSON.parse(stdout)).toMatchObject({ name: 'redis', primary: 'redis-0', pods: [{ name: 'redis-0', keys: 3 }] });
  expect(JSON.parse((await redisStatus('-o', 'json')).stdout)).toMatchObject([{ name: 'redis' }]);
});

it('for programs, a fence that nobody can read is null: left out, it would look like none', async () => {
  const { metadata, ...rest } = cluster('redis');
  clusters = [{ ...rest, metadata: { ...metadata, annotations: { 'redis.io/fencedInstances': 'redis-0' } } }];
  expect(JSON.parse((await redisStatus('redis', '-o', 'json')).stdout)).toHaveProperty('fenced', null);
});

it('a pod that is gone, and one that this user may not look at', async () => {
  clusters = [cluster('redis')];
  pod = 404;
  expect(await redisStatus()).toMatchObject({ code: 1, stdout: expect.stringContaining('there is no such pod') });
  pod = 403;
  expect(await redisStatus()).toMatchObject({ code: 0, stdout: expect.not.stringContaining('gone') });
});

it('nothing to tell about', async () => {
  expect(await redisStatus()).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('no RedisCluster in namespace shop'),
  });
  expect(await redisStatus('redis')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('no RedisCluster shop/redis'),
  });
  clusters = [cluster('other')];
  expect(await redisStatus('redis')).toMatchObject({ code: 2, stderr: expect.stringContaining('there are: other') });
  clusters = undefined;
  for (const argv of [[], ['redis']]) {
    expect(await redisStatus(...argv)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('does not know RedisClusters: apply deploy/redis/rediscluster-crd.yaml'),
    });
  }
});

it.each([
  [['one', 'two'], 'one RedisCluster can be named'],
  [['../secrets'], 'is no name of a RedisCluster'],
  [['-o', 'yaml'], '-o knows json, not yaml'],
])('%j is refused', async (argv, words) => {
  expect(await redisStatus(...argv)).toMatchObject({ code: 2, stderr: expect.stringContaining(words) });
});

it('attune redis alone, or with another word', async () => {
  expect(await attune('redis')).toMatchObject({ code: 2, stderr: expect.stringContaining('say what: status') });
  expect(await attune('redis', 'stat')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('attune redis stat\n'),
  });
  expect(await attune('redis', '--help')).toMatchObject({ code: 0, stdout: expect.stringContaining('redis status') });
  const { code, stdout } = await redisStatus('--help');
  expect([code, stdout]).toEqual([0, expect.stringContaining('waits for a restart')]);
  // The ledger has nothing to say here.
  expect(stdout).not.toContain('--attune-namespace');
  expect((await attune('explain', '--help')).stdout).toContain('--attune-namespace');
});
