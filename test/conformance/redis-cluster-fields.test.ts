import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { crd } from '../../src/api/redis-cluster/crd.ts';
import { SPEC } from '../../src/api/redis-cluster/spec-fields.ts';
import { STATUS } from '../../src/api/redis-cluster/status-fields.ts';
import { type Field, rowsOf } from '../../src/api/schema/field.ts';

/** The fields of the operator that the agent fits, with their types; `!`: required; after `=` the default. */
const SPEC_FIELDS: Readonly<Record<string, string>> = {
  'spec.mode': 'standalone|sentinel|cluster=standalone',
  'spec.redis': 'string{}',
  'spec.memory': 'object',
  'spec.memory.maxMemory': 'quantity',
  'spec.memory.maxMemoryPercent': 'int32 1..100',
  'spec.memory.maxMemoryPolicy':
    'noeviction|allkeys-lru|allkeys-lfu|allkeys-random|volatile-lru|volatile-lfu|volatile-random|volatile-ttl=noeviction',
  'spec.resources': 'open',
  'spec.resources.limits': 'quantity{}',
  'spec.resources.requests': 'quantity{}',
  'spec.authSecret': 'object',
  'spec.authSecret.name': 'string!',
  'spec.aclConfigSecret': 'object',
  'spec.aclConfigSecret.name': 'string!',
  'spec.tlsSecret': 'object',
  'spec.tlsSecret.name': 'string!',
  'spec.caSecret': 'object',
  'spec.caSecret.name': 'string!',
  'spec.replicaMode': 'object',
  'spec.replicaMode.enabled': 'boolean=false',
  'spec.replicaMode.promote': 'boolean=false',
  'spec.replicaMode.source': 'object',
  'spec.replicaMode.source.host': 'string!',
  'spec.replicaMode.source.port': 'int32 1..65535=6379',
  'spec.replicaMode.source.authSecretName': 'string',
  'spec.replicaMode.source.clusterName': 'string',
  'spec.primaryIsolation': 'object',
  'spec.primaryIsolation.enabled': 'boolean=true',
  'spec.primaryIsolation.apiServerTimeout': 'string=5s',
  'spec.primaryIsolation.peerTimeout': 'string=5s',
};

const UNREAD_FIELDS: Readonly<Record<string, string>> = {
  'spec.instances': 'int32 0..',
  'spec.shards': 'int32 3..',
  'spec.replicasPerShard': 'int32 0..',
  'spec.minSyncReplicas': 'int32 0..',
  'spec.maxSyncReplicas': 'int32 0..',
  'spec.primaryUpdateStrategy': 'unsupervised|supervised',
  'spec.imageName': 'string',
  'spec.storage': 'object',
  'spec.storage.type': 'pvc|emptyDir=pvc',
  'spec.storage.size': 'quantity=1Gi',
  'spec.storage.storageClassName': 'string',
  'spec.enablePodDisruptionBudget': 'boolean',
  'spec.backupCredentialsSecret': 'object',
  'spec.backupCredentialsSecret.name': 'string!',
  'spec.connectionSecret': 'object',
  'spec.connectionSecret.name': 'string!',
  'spec.nodeSelector': 'string{}',
  'spec.affinity': 'open',
  'spec.tolerations': 'open[]',
  'spec.topologySpreadConstraints': 'open[]',
  'spec.bootstrap': 'object',
  'spec.bootstrap.backupName': 'string',
  'spec.nodeMaintenanceWindow': 'object',
  'spec.nodeMaintenanceWindow.inProgress': 'boolean!',
  'spec.nodeMaintenanceWindow.reusePVC': 'boolean=true',
};

const STATUS_FIELDS: Readonly<Record<string, string>> = {
  'status.currentPrimary': 'string',
  'status.instancesStatus': 'object{}',
  'status.instancesStatus.*.role': 'string',
  'status.instancesStatus.*.connected': 'boolean',
  'status.instancesStatus.*.replicationOffset': 'int64',
  'status.instancesStatus.*.connectedReplicas': 'int32',
  'status.instancesStatus.*.masterLinkStatus': 'string',
  'status.instancesStatus.*.replicaLagBytes': 'int64',
  'status.instancesStatus.*.nodeID': 'string',
  'status.instancesStatus.*.slotsServed': 'object[]',
  'status.instancesStatus.*.slotsServed[].start': 'int32!',
  'status.instancesStatus.*.slotsServed[].end': 'int32!',
  'status.instancesStatus.*.clusterState': 'string',
  'status.instancesStatus.*.currentEpoch': 'int64',
  'status.instancesStatus.*.lastSeenAt': 'date-time',
  'status.phase': 'string',
  'status.readyInstances': 'int32',
  'status.sentinelReadyInstances': 'int32',
  'status.instances': 'int32',
  'status.healthyPVC': 'int32',
  'status.danglingPVC': 'string[]',
  'status.slotsAssigned': 'int32',
  'status.clusterState': 'string',
  'status.bootstrapCompleted': 'boolean',
  'status.secretsResourceVersion': 'string{}',
  'status.shards': 'open{}',
  'status.conditions': 'object[]',
  'status.conditions[].type': 'string!',
  'status.conditions[].status': 'string!',
  'status.conditions[].observedGeneration': 'int64',
  'status.conditions[].lastTransitionTime': 'date-time!',
  'status.conditions[].reason': 'string!',
  'status.conditions[].message': 'string!',
};

const NEW_FIELDS = [
  'spec.authOverlap',
  'spec.rotationKeySecret',
  ...['state', 'message', 'keys', 'observedGeneration', 'config', 'credentials', 'acl', 'tls'].map(
    (name) => `status.instancesStatus.*.${name}`,
  ),
];

function typeOf(field: Field): string {
  switch (field.type) {
    case 'array':
      return `${typeOf(field.items)}[]`;
    case 'map':
      return `${typeOf(field.values)}{}`;
    case 'object':
      return field.isOpen ? 'open' : 'object';
    case 'integer': {
      const range = field.minimum === undefined ? '' : ` ${field.minimum}..${field.maximum ?? ''}`;
      return `${field.format ?? 'int64'}${range}`;
    }
    case 'string':
      return field.enum?.join('|') ?? field.format ?? 'string';
    default:
      return field.type;
  }
}

const isRequired = (parent: Field, name: string): boolean => {
  if (parent.type === 'array') return isRequired(parent.items, name);
  if (parent.type === 'map') return isRequired(parent.values, name);
  return parent.type === 'object' && (parent.required?.includes(name) ?? false);
};

/** Every field with its type; without the new ones. */
function typesOf(root: string, table: Field): Readonly<Record<string, string>> {
  const rows = rowsOf(root, table).filter(({ path }) => !NEW_FIELDS.some((each) => `${path}.`.startsWith(`${each}.`)));
  const parents = new Map(rows.map(({ path, field }) => [path, field]));
  const types = rows.slice(1).map(({ path, field }): [string, string] => {
    const parent = parents.get(path.slice(0, path.lastIndexOf('.')).replace(/\[\]$|\.\*$/, ''));
    const mark = parent && isRequired(parent, path.slice(path.lastIndexOf('.') + 1)) ? '!' : '';
    const fallback = 'default' in field ? `=${field.default}` : '';
    return [path, `${typeOf(field)}${mark}${fallback}`];
  });
  return Object.fromEntries(types);
}

describe('the definition of RedisCluster', () => {
  test('has every field of the old one with its type, and the others are marked as new', () => {
    expect(typesOf('spec', SPEC)).toEqual({ ...SPEC_FIELDS, ...UNREAD_FIELDS });
    expect(typesOf('status', STATUS)).toEqual(STATUS_FIELDS);
    const marked = [...rowsOf('spec', SPEC), ...rowsOf('status', STATUS)].filter(({ field }) => field.isNew);
    expect(marked.map(({ path }) => path).toSorted()).toEqual(NEW_FIELDS.toSorted());
  });

  test('says of each field that nobody in the pod reads that it is so', () => {
    const top = rowsOf('spec', SPEC).filter(({ path }) => path.split('.').length === 2);
    const unread = top.filter(({ field }) => field.description.endsWith('Not read by the agent.'));
    const expected = Object.keys(UNREAD_FIELDS).filter((path) => path.split('.').length === 2);
    expect(unread.map(({ path }) => path).toSorted()).toEqual(expected.toSorted());
  });

  test('is found under the same names, but for the one that means ReplicationController', () => {
    const { group, scope, names, versions } = crd().spec;
    const [version] = versions;
    expect([group, version.name, scope]).toEqual(['redis.io', 'v1', 'Namespaced']);
    expect(names).toEqual({
      kind: 'RedisCluster',
      listKind: 'RedisClusterList',
      plural: 'redisclusters',
      singular: 'rediscluster',
      shortNames: ['rdc'],
    });
    expect(version).toMatchObject({ served: true, storage: true, subresources: { status: {} } });
    expect(version.additionalPrinterColumns.slice(0, 5).map(({ name }) => name)).toEqual([
      ...['Instances', 'Ready', 'Phase', 'Primary', 'Age'],
    ]);
  });

  test.each(['deploy/redis/rediscluster-crd.yaml', 'charts/attune/files/redisclusters.yaml'])(
    'is what %s has (node scripts/manifests.mjs)',
    (file) => {
      expect(parse(readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8'))).toEqual(crd());
    },
  );
});
