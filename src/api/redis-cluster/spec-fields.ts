import type { ObjectField, ValueOf } from '../schema/field.ts';
import { flag, text } from '../schema/short-forms.ts';
import { OPERATOR_SPEC } from './operator-fields.ts';
import { MEMORY_RULES, QUANTITY, REPLICA_MODE_RULES, SPEC_RULES, TIME_SPAN } from './rules.ts';

/** How long the name of an object or of a host can be. */
const LONGEST_NAME = 253;

const name = (description: string) => ({ ...text(description), maxLength: LONGEST_NAME }) as const;
const timeSpan = (fallback: string, description: string) =>
  ({ type: 'string', maxLength: 64, default: fallback, rules: [TIME_SPAN], description }) as const;
const secret = (description: string) =>
  ({
    type: 'object',
    description,
    required: ['name'],
    properties: { name: name('The name of the Secret. The pod must have its keys as files, by a projected volume.') },
  }) as const;
const amounts = (description: string) =>
  ({ type: 'map', maxProperties: 64, description, values: { type: 'quantity', description: 'An amount.' } }) as const;

/** In the order of Redis's own documentation. */
const POLICIES = [
  ...(['noeviction', 'allkeys-lru', 'allkeys-lfu', 'allkeys-random'] as const),
  ...(['volatile-lru', 'volatile-lfu', 'volatile-random', 'volatile-ttl'] as const),
] as const;

const MEMORY = {
  type: 'object',
  description:
    'How much memory Redis may use for data. In its place spec.redis may say maxmemory and maxmemory-policy.',
  rules: MEMORY_RULES,
  properties: {
    maxMemory: {
      type: 'quantity',
      rules: [QUANTITY],
      description: 'An amount like 512Mi. Keep it well below the memory limit of the container: nobody checks that.',
    },
    maxMemoryPercent: {
      type: 'integer',
      format: 'int32',
      minimum: 1,
      maximum: 100,
      description: 'The same as a part of spec.resources.limits.memory.',
    },
    maxMemoryPolicy: {
      type: 'string',
      enum: POLICIES,
      default: 'noeviction',
      description: 'What is dropped when memory is full; with noeviction nothing is, and writes fail.',
    },
  },
} as const;

const RESOURCES = {
  type: 'object',
  isOpen: true,
  description: 'As in a container. Only limits.memory is read, for maxMemoryPercent; nobody sets it on the pod.',
  properties: {
    limits: amounts('The most that the container gets.'),
    requests: amounts('What is kept free for it.'),
  },
} as const;

const REPLICA_MODE = {
  type: 'object',
  description: 'Every pod follows a Redis outside of this cluster. Not for mode cluster.',
  rules: REPLICA_MODE_RULES,
  properties: {
    enabled: { ...flag('Whether it is so.'), default: false },
    promote: {
      ...flag('The pod that status.currentPrimary names stops following. Only while enabled is true.'),
      default: false,
    },
    source: {
      type: 'object',
      description: 'Whom the pods follow.',
      required: ['host'],
      properties: {
        host: name('Its name or address.'),
        port: {
          type: 'integer',
          format: 'int32',
          minimum: 1,
          maximum: 65535,
          default: 6379,
          description: 'Its port.',
        },
        authSecretName: name('The Secret with its password under the key password, projected into the pod.'),
        clusterName: name('What it is called, for people. Nobody reads it.'),
      },
    },
  },
} as const;

const ISOLATION = {
  type: 'object',
  description:
    'A primary that reaches neither the API server nor another pod fails its liveness probe, since a new primary may have ' +
    'been named meanwhile. Missing: as if all of its fields were.',
  properties: {
    enabled: { ...flag('Whether it is so.'), default: true },
    apiServerTimeout: timeSpan('5s', 'How long the API server may take to answer.'),
    peerTimeout: timeSpan('5s', 'How long another pod may take to answer.'),
  },
} as const;

/** `spec` of a RedisCluster: schema, types and documentation come from here. */
export const SPEC = {
  type: 'object',
  description: 'How the Redis of each pod is to be. The agent in the pod applies a change while Redis serves.',
  rules: SPEC_RULES,
  properties: {
    mode: {
      type: 'string',
      enum: ['standalone', 'sentinel', 'cluster'],
      default: 'standalone',
      description:
        'Who decides on the role of a pod: standalone: status.currentPrimary; sentinel: Sentinel; cluster: Redis Cluster.',
    },
    redis: {
      type: 'map',
      maxProperties: 256,
      description:
        'Parameters of redis.conf with their values as texts. What Redis takes live is applied at once; what it does not is ' +
        'tried on a throw-away server, and then waits for a restart. What Redis refuses changes nothing. A key that goes gets ' +
        'back the value from before. Keys that the agent sets itself, like port and requirepass, are refused.',
      values: { ...text('The value as CONFIG SET takes it, in quotes.'), maxLength: 4096 },
    },
    memory: MEMORY,
    resources: RESOURCES,
    authSecret: secret('The password of the user default, under the key password.'),
    aclConfigSecret: secret(
      'Further users, under the key acl: a line for each as in an ACL file of Redis. It must not switch the user default off.',
    ),
    tlsSecret: secret('tls.crt and tls.key, mounted at /tls. Only together with caSecret.'),
    caSecret: secret('ca.crt, mounted at /tls. Only together with tlsSecret.'),
    authOverlap: {
      ...timeSpan(
        '5m',
        'A duration like 5m or 1h30m: how long an old password, or an old authority of certificates, is still accepted after ' +
          'every pod uses the new one.',
      ),
      isNew: true,
    },
    rotationKeySecret: {
      ...secret(
        'A random text under the key key. It keys the ids by which pods tell each other how far a change of password is, so ' +
          'that nobody can guess a password by its id. Missing: each pod changes it alone, and says so.',
      ),
      isNew: true,
    },
    replicaMode: REPLICA_MODE,
    primaryIsolation: ISOLATION,
    ...OPERATOR_SPEC,
  },
} as const satisfies ObjectField;

export type RedisClusterSpec = ValueOf<typeof SPEC>;
