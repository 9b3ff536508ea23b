import { expect, test } from 'vitest';
import { parseCluster } from './parse-cluster.ts';

const parsed = (spec: unknown, status: unknown = undefined) =>
  parseCluster({
    metadata: { name: 'redis', namespace: 'shop', uid: 'u', resourceVersion: '1' },
    spec,
    status,
  } as never);

test('everything that is said', () => {
  const cluster = parsed(
    {
      mode: 'sentinel',
      redis: { timeout: '30', hz: '20' },
      memory: { maxMemoryPercent: 75, maxMemoryPolicy: 'allkeys-lru' },
      resources: { limits: { memory: '1Gi' } },
      authSecret: { name: 'auth' },
      aclConfigSecret: { name: 'acl' },
      rotationKeySecret: { name: 'key' },
      tlsSecret: { name: 'tls' },
      caSecret: { name: 'ca' },
      authOverlap: '90s',
      replicaMode: { enabled: true, source: { host: 'far', authSecretName: 'far-auth' } },
      primaryIsolation: { enabled: false, peerTimeout: '2s' },
    },
    { currentPrimary: 'redis-1', instancesStatus: { 'redis-0': { role: 'slave' } } },
  );
  expect([...cluster.redis]).toEqual([
    ['hz', '20'],
    ['timeout', '30'],
  ]);
  expect(cluster).toMatchObject({
    mode: 'sentinel',
    memory: { bytes: 805_306_368, policy: 'allkeys-lru' },
    authSecret: 'auth',
    aclSecret: 'acl',
    rotationKeySecret: 'key',
    tls: true,
    overlapMs: 90_000,
    replicaMode: { promote: false, host: 'far', port: 6379, authSecret: 'far-auth' },
    isolation: { enabled: false, apiServerTimeoutMs: 5000, peerTimeoutMs: 2000 },
    currentPrimary: 'redis-1',
    problems: [],
  });
  expect(cluster.instances.get('redis-0')).toEqual({ role: 'slave' });
});

test('nothing at all', () => {
  const cluster = parsed(undefined);
  expect(cluster).toMatchObject({
    mode: 'standalone',
    tls: false,
    currentPrimary: '',
    overlapMs: 300_000,
    problems: [],
  });
  expect(cluster.isolation).toEqual({ enabled: true, apiServerTimeoutMs: 5000, peerTimeoutMs: 5000 });
});

test('the time that a timer can wait ends at a day, and has no fractions', () => {
  const { isolation } = parsed({ primaryIsolation: { apiServerTimeout: '2000h', peerTimeout: '1500us' } });
  expect(isolation).toMatchObject({ apiServerTimeoutMs: 24 * 3_600_000, peerTimeoutMs: 2 });
});

test('wrong types are told all at once with their paths, and the rest counts', () => {
  const cluster = parsed({
    mode: 'ring',
    redis: { hz: 20, timeout: '30', 'maxmemory-policy': null },
    memory: { maxMemory: '256mb', maxMemoryPolicy: 3 },
    authSecret: 'auth',
    tlsSecret: { name: 'tls' },
    authOverlap: '5 minutes',
    replicaMode: { enabled: true, source: { port: 70_000 } },
    primaryIsolation: { enabled: 'yes' },
  });
  expect([...cluster.redis]).toEqual([['timeout', '30']]);
  expect(cluster.problems.map(({ where }) => where).sort()).toEqual([
    'spec.authOverlap',
    'spec.authSecret',
    'spec.caSecret',
    'spec.memory.maxMemory',
    'spec.memory.maxMemoryPolicy',
    'spec.mode',
    'spec.primaryIsolation.enabled',
    'spec.redis.hz',
    'spec.redis.maxmemory-policy',
    'spec.replicaMode.source.host',
    'spec.replicaMode.source.port',
  ]);
  expect(cluster.problems.every(({ what }) => what.startsWith('must be '))).toBe(true);
});

test.each([
  [{ maxMemory: '256Mi' }, 268_435_456],
  [{ maxMemory: 1000 }, 1000],
  [{ maxMemory: '0' }, undefined],
  [{ maxMemory: '-1Gi' }, undefined],
  [{ maxMemoryPercent: 50 }, undefined],
])('memory %j', (memory, bytes) => {
  const { memory: read, problems } = parsed({ memory });
  expect([read.bytes, problems.length]).toEqual([bytes, bytes === undefined ? 1 : 0]);
});
