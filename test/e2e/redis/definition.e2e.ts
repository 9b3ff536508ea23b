import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { SPEC } from '../../../src/api/redis-cluster/spec-fields.ts';
import { type RedisClusterStatus, STATUS } from '../../../src/api/redis-cluster/status-fields.ts';
import { REDIS_CLUSTERS } from '../../../src/api/resources.ts';
import { rowsOf } from '../../../src/api/schema/field.ts';
import { environment } from '../../../src/config/load.ts';
import { findBinaries } from '../../../src/sandbox/binaries/binaries.ts';
import { installKinds } from '../../support/crds.ts';
import { api, controlPlane, namespace } from '../../support/sandbox.ts';
import { until } from '../../support/wait.ts';

const { group, version, plural, kind } = REDIS_CLUSTERS;
let space: string;
let clusters: string;

beforeAll(async () => {
  [space] = await Promise.all([namespace('redis-definition'), installKinds(['RedisCluster'])]);
  clusters = `/apis/${group}/${version}/namespaces/${space}/${plural}`;
});

const object = (name: string, spec: object) => ({ apiVersion: `${group}/${version}`, kind, metadata: { name }, spec });

/** What the server would store; it refuses fields that it does not know. */
async function stored(spec: object): Promise<unknown> {
  return (await api().create(`${clusters}?dryRun=All&fieldValidation=Strict`, object('some', spec)))['spec'];
}

const secret = (name: string) => ({ name });
const DEFAULTS = { mode: 'standalone', authOverlap: '5m' };
const source = { host: 'redis.example.com', port: 6379 };

/** A value in every field, as far as they go together. */
const FULL = {
  mode: 'sentinel',
  redis: { save: '900 1 300 10', 'tcp-keepalive': '60', loglevel: '' },
  memory: { maxMemoryPercent: 60, maxMemoryPolicy: 'allkeys-lru' },
  resources: { limits: { memory: '1Gi', cpu: 2 }, requests: { cpu: '100m' }, claims: [{ name: 'gpu' }] },
  authSecret: secret('auth'),
  aclConfigSecret: secret('acl'),
  tlsSecret: secret('tls'),
  caSecret: secret('ca'),
  authOverlap: '1h30m',
  rotationKeySecret: secret('rotation'),
  replicaMode: {
    enabled: true,
    promote: true,
    source: { ...source, authSecretName: 'upstream', clusterName: 'other' },
  },
  primaryIsolation: { enabled: false, apiServerTimeout: '1.5s', peerTimeout: '500ms' },
  instances: 3,
  shards: 3,
  replicasPerShard: 1,
  minSyncReplicas: 0,
  maxSyncReplicas: 1,
  primaryUpdateStrategy: 'supervised',
  imageName: 'redis:7.2',
  storage: { type: 'emptyDir', size: '10Gi', storageClassName: 'fast' },
  enablePodDisruptionBudget: false,
  backupCredentialsSecret: secret('backup'),
  connectionSecret: secret('connection'),
  nodeSelector: { disk: 'ssd' },
  affinity: { podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1 }] } },
  tolerations: [{ key: 'a', operator: 'Exists', effect: 'NoSchedule' }],
  topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule' }],
  bootstrap: { backupName: 'monday' },
  nodeMaintenanceWindow: { inProgress: true, reusePVC: false },
};

describe('the API server accepts', () => {
  it('every field, as it is', async () => {
    for (const { path } of rowsOf('spec', SPEC).slice(1)) {
      if (path === 'spec.memory.maxMemory') continue;
      expect(JSON.stringify(FULL), path).toContain(`"${path.slice(path.lastIndexOf('.') + 1)}":`);
    }
    expect(await stored(FULL)).toEqual(FULL);
  });

  it('little, and sets what is missing', async () => {
    expect(await stored({})).toEqual(DEFAULTS);
    expect(await stored({ memory: {}, replicaMode: { source: { host: 'a' } }, primaryIsolation: {} })).toEqual({
      ...DEFAULTS,
      memory: { maxMemoryPolicy: 'noeviction' },
      replicaMode: { enabled: false, promote: false, source: { host: 'a', port: 6379 } },
      primaryIsolation: { enabled: true, apiServerTimeout: '5s', peerTimeout: '5s' },
    });
  });

  it.each([100, '100', '100Mi', '1.5Gi', '.5G', '1e9', '1E', '128974848000m'])(
    'the amount of memory %s',
    async (maxMemory) => {
      expect(await stored({ memory: { maxMemory } })).toMatchObject({ memory: { maxMemory } });
    },
  );

  it.each(['0', '5m', '1h30m', '1.5s', '250ms', '10us'])('the duration %s', async (authOverlap) => {
    expect(await stored({ authOverlap })).toMatchObject({ authOverlap });
  });

  it('maxmemory in one place, whichever', async () => {
    await stored({ redis: { maxmemory: '100mb', 'maxmemory-policy': 'noeviction' } });
    await stored({ memory: { maxMemory: '100Mi' }, redis: { 'maxmemory-samples': '5' } });
  });

  it('a replica mode that is switched off in a Redis Cluster', async () => {
    await stored({ mode: 'cluster', replicaMode: { enabled: false, source } });
  });

  it('every field of the status', async () => {
    const name = 'status';
    await api().create(clusters, object(name, {}));
    const at = '2026-01-31T12:00:00Z';
    const message = 'Redis says: no';
    const status: Required<RedisClusterStatus> = {
      currentPrimary: 'redis-0',
      instancesStatus: {
        'redis-0': {
          role: 'slave',
          connected: true,
          replicationOffset: 2 ** 52,
          replicaLagBytes: 14,
          connectedReplicas: 2,
          masterLinkStatus: 'up',
          state: 'Running',
          message,
          keys: 7,
          observedGeneration: 1,
          config: { hz: { state: 'Refused', value: '10', message } },
          credentials: { id: 'abc', phase: 'Used', since: at, message },
          acl: { state: 'Applied', users: 3, message },
          tls: {
            state: 'Waiting',
            leaf: 'ab',
            notAfter: at,
            trusted: ['ab', 'cd'],
            signedBy: 'ab',
            phase: 'Trusted',
            since: at,
            message,
          },
          nodeID: 'ab',
          slotsServed: [{ start: 0, end: 16383 }],
          clusterState: 'ok',
          currentEpoch: 3,
          lastSeenAt: at,
        },
      },
      phase: 'Healthy',
      readyInstances: 3,
      sentinelReadyInstances: 3,
      instances: 3,
      healthyPVC: 3,
      danglingPVC: ['redis-data-7'],
      slotsAssigned: 16384,
      clusterState: 'ok',
      bootstrapCompleted: true,
      secretsResourceVersion: { auth: '12' },
      shards: { a: { primary: 'redis-0' } },
      conditions: [
        { type: 'Ready', status: 'True', observedGeneration: 1, lastTransitionTime: at, reason: 'A', message },
      ],
    };
    for (const { path } of rowsOf('status', STATUS).slice(1)) {
      expect(JSON.stringify(status), path).toContain(`"${path.slice(path.lastIndexOf('.') + 1)}":`);
    }
    const written = await api().patch(`${clusters}/${name}/status?fieldValidation=Strict`, { status });
    expect(written['status']).toEqual(status);
  });
});

describe('the API server refuses', () => {
  const limits = { memory: '1Gi' };
  const long = Object.fromEntries(Array.from({ length: 257 }, (_, n) => [`key-${n}`, '1']));

  it.each<[string, object, string]>([
    [
      'two amounts of memory',
      { memory: { maxMemory: '1Gi', maxMemoryPercent: 50 }, resources: { limits } },
      'exclude each other',
    ],
    ['a part of nothing', { memory: { maxMemoryPercent: 50 } }, 'resources.limits.memory, which is missing'],
    [
      'a part of another limit',
      { memory: { maxMemoryPercent: 50 }, resources: { limits: { cpu: 1 } } },
      'which is missing',
    ],
    ['0 percent', { memory: { maxMemoryPercent: 0 }, resources: { limits } }, 'greater than or equal to 1'],
    ['a policy that does not exist', { memory: { maxMemoryPolicy: 'lru' } }, 'Unsupported value'],
    ['no memory', { memory: { maxMemory: '0Mi' } }, 'an amount of memory like 512Mi, more than 0'],
    ['less than no memory', { memory: { maxMemory: -1 } }, 'more than 0'],
    ["Redis's units", { memory: { maxMemory: '100mb' } }, 'an amount of memory like 512Mi'],
    ['two numbers', { memory: { maxMemory: '1.2.3' } }, 'an amount of memory like 512Mi'],
    ['maxmemory twice', { memory: { maxMemory: '1Gi' }, redis: { maxmemory: '1' } }, 'say it in one place'],
    ['maxmemory-policy twice', { memory: {}, redis: { 'MaxMemory-Policy': 'noeviction' } }, 'say it in one place'],
    ['a number for a parameter', { redis: { hz: 10 } }, 'must be of type string'],
    ['too many parameters', { redis: long }, 'must have at most 256 items'],
    ['a value without an end', { redis: { hz: '1'.repeat(4097) } }, 'may not be more than 4096'],
    ['a certificate without its authority', { tlsSecret: secret('tls') }, 'must both be there, or none'],
    ['an authority without a certificate', { caSecret: secret('ca') }, 'must both be there, or none'],
    ['a Secret without a name', { authSecret: {} }, 'spec.authSecret.name: Required'],
    ['to follow nobody', { replicaMode: { enabled: true } }, 'source.host must say whom to follow'],
    ['to follow a blank', { replicaMode: { enabled: true, source: { host: ' \t' } } }, 'must say whom to follow'],
    ['a source without a host', { replicaMode: { source: { port: 1 } } }, 'source.host: Required'],
    ['port 0', { replicaMode: { source: { host: 'a', port: 0 } } }, 'greater than or equal to 1'],
    [
      'to promote without replica mode',
      { replicaMode: { promote: true, source } },
      'promote counts only while enabled',
    ],
    [
      'replica mode in a Redis Cluster',
      { mode: 'cluster', replicaMode: { enabled: true, source } },
      'is not for mode cluster',
    ],
    ['a mode that does not exist', { mode: 'single' }, 'Unsupported value'],
    ['a duration without unit', { authOverlap: '5' }, 'a duration like 5m or 1h30m'],
    ['a duration into the past', { primaryIsolation: { peerTimeout: '-5s' } }, 'a duration like 5m or 1h30m'],
    ['a field that does not exist', { maxMemory: '1Gi' }, 'unknown field'],
  ])('%s', async (_, spec, words) => {
    await expect(stored(spec)).rejects.toThrow(words);
  });
});

describe('kubectl', () => {
  const kubectl = async (...words: readonly string[]): Promise<string> => {
    const { kubectl: file } = await findBinaries(['kubectl'], { env: environment() }, () => {});
    const { stdout } = await promisify(execFile)(file, ['--kubeconfig', controlPlane().kubeconfig, ...words]);
    return stdout.replace(/\s+/g, ' ');
  };

  it('explains each field', async () => {
    const explained = await until(() => kubectl('explain', 'rdc', '--recursive'), { what: 'the schema being served' });
    for (const { path } of rowsOf('spec', SPEC)) expect(explained).toContain(path.slice(path.lastIndexOf('.') + 1));
    expect(await kubectl('explain', 'rdc.spec.memory.maxMemory')).toContain('An amount like 512Mi');
    expect(await kubectl('explain', 'rdc')).toContain('redis.io/fencedInstances');
  });

  it('shows how each one is, and with -o wide who is fenced', async () => {
    const name = 'shown';
    const { metadata, ...rest } = object(name, { instances: 3, tlsSecret: secret('tls'), caSecret: secret('ca') });
    const annotations = { 'redis.io/fencedInstances': '["redis-1"]' };
    await api().create(clusters, { ...rest, metadata: { ...metadata, annotations } });
    const status: RedisClusterStatus = { phase: 'Healthy', readyInstances: 2, currentPrimary: 'redis-0' };
    await api().patch(`${clusters}/${name}/status`, { status });
    const plain = await kubectl('get', 'rdc', name, '-n', space);
    expect(plain).toMatch(/^NAME INSTANCES READY PHASE PRIMARY AGE shown 3 2 Healthy redis-0 /);
    expect(await kubectl('get', 'rdc', name, '-n', space, '-o', 'wide')).toMatch(
      /AGE MODE TLS SOURCE FENCED .* standalone tls \["redis-1"\]/,
    );
  });
});
