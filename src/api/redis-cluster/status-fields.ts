import type { ObjectField, ValueOf } from '../schema/field.ts';
import { count, flag, text, time } from '../schema/short-forms.ts';
import { INSTANCE } from './instance-fields.ts';

const number = (description: string) => ({ type: 'integer', format: 'int32', description }) as const;

const CONDITION = {
  type: 'object',
  description: 'One aspect of the state.',
  required: ['type', 'status', 'lastTransitionTime', 'reason', 'message'],
  properties: {
    type: text('Such as Ready or PrimaryAvailable.'),
    status: text('True, False or Unknown.'),
    observedGeneration: count('The metadata.generation that this is about.'),
    lastTransitionTime: time('When the status last became another one.'),
    reason: text('The reason in one word.'),
    message: text('The same for people.'),
  },
} as const;

/** `status` of a RedisCluster. Each agent writes the entry of its own pod in instancesStatus, and nothing else. */
export const STATUS = {
  type: 'object',
  description:
    'What is. Each agent writes the entry of its own pod in instancesStatus; currentPrimary is what somebody else tells ' +
    'them; the rest is what an operator adds.',
  properties: {
    currentPrimary: text(
      'The pod that is to be the primary; the others follow it. Missing: every pod keeps the role that it has.',
    ),
    instancesStatus: { type: 'map', description: 'What each pod says of its Redis, by its name.', values: INSTANCE },
    phase: text('The state in one word.'),
    readyInstances: number('How many data pods are ready.'),
    sentinelReadyInstances: number('How many Sentinel pods are ready.'),
    instances: number('How many data pods there are.'),
    healthyPVC: number('How many claims for volumes are bound.'),
    danglingPVC: { type: 'array', description: 'Claims without a pod.', items: text('The name of the claim.') },
    slotsAssigned: number('How many slots of a Redis Cluster somebody serves.'),
    clusterState: text('The state of a Redis Cluster.'),
    bootstrapCompleted: flag('Whether a Redis Cluster was set up.'),
    secretsResourceVersion: {
      type: 'map',
      description: 'The Secrets by their names.',
      values: text('The resourceVersion of the Secret.'),
    },
    shards: {
      type: 'map',
      description: 'The shards of a Redis Cluster by their names.',
      values: { type: 'object', description: 'A shard.', properties: {}, isOpen: true },
    },
    conditions: { type: 'array', key: 'type', description: 'What an operator says.', items: CONDITION },
  },
} as const satisfies ObjectField;

export type RedisClusterStatus = ValueOf<typeof STATUS>;
