import type { ObjectField, ValueOf } from '../schema/field.ts';
import { count, flag, text, time } from '../schema/short-forms.ts';

const number = (description: string) => ({ type: 'integer', format: 'int32', description }) as const;

const KEY = {
  type: 'object',
  description: 'What has become of one key.',
  required: ['state'],
  properties: {
    state: text('Applied, Refused or RestartNeeded.'),
    value: text('As Redis reads it back.'),
    message: text("Why not: Redis's own words, or what would be lost."),
  },
} as const;

const CREDENTIALS = {
  type: 'object',
  isNew: true,
  description: 'How far a change of the password is.',
  properties: {
    id: text('Stands for the password; without the key of spec.rotationKeySecret nobody can guess it.'),
    phase: text(
      'Accepted: the new password opens this Redis, as the old one does. Used: it is also the one for the primary, and was ' +
        'tried there. Settled: the old one is gone.',
    ),
    since: time('When the phase began.'),
    message: text('What is waited for, or what is wrong.'),
  },
} as const;

const ACL = {
  type: 'object',
  isNew: true,
  description: 'What has become of the users of spec.aclConfigSecret.',
  required: ['state'],
  properties: {
    state: text('Applied or Refused.'),
    users: count('How many there are.'),
    message: text('Why not.'),
  },
} as const;

const TLS = {
  type: 'object',
  isNew: true,
  description: 'What has become of the certificates.',
  required: ['state'],
  properties: {
    state: text('Applied, Refused or Waiting.'),
    leaf: text('SHA-256 of the certificate that a handshake has shown.'),
    notAfter: time('When it expires.'),
    trusted: {
      type: 'array',
      description: 'SHA-256 of every authority that this Redis trusts.',
      items: text('SHA-256 of its certificate.'),
    },
    signedBy: text('SHA-256 of the authority that has signed the certificate.'),
    phase: text(
      'Trusted: the new authority counts, as the old one does. Served: the new certificate is served. Settled: the old ' +
        'authority is gone.',
    ),
    since: time('When the phase began.'),
    message: text('What is waited for, or what is wrong.'),
  },
} as const;

/** What the operator that makes pods adds to an entry. */
const OPERATOR_INSTANCE = {
  replicaLagBytes: count('How far a replica is behind. Not written by the agent.'),
  nodeID: text('Its id in a Redis Cluster. Not written by the agent.'),
  slotsServed: {
    type: 'array',
    description: 'The slots that it serves in a Redis Cluster. Not written by the agent.',
    items: {
      type: 'object',
      description: 'A range of slots.',
      required: ['start', 'end'],
      properties: { start: number('The first one.'), end: number('The last one.') },
    },
  },
  clusterState: text('What it says of the Redis Cluster. Not written by the agent.'),
  currentEpoch: count('Its epoch in a Redis Cluster. Not written by the agent.'),
  lastSeenAt: time('When the operator last reached it. Not written by the agent.'),
} as const;

/** `status.instancesStatus.<pod>`: what a pod says of itself. */
export const INSTANCE = {
  type: 'object',
  description: 'What a pod says of its Redis.',
  properties: {
    role: text('master or slave, as Redis calls it.'),
    connected: flag('Whether its Redis answers.'),
    replicationOffset: count('How far it is in the stream of changes.'),
    connectedReplicas: number('Of a primary: how many replicas follow it.'),
    masterLinkStatus: text('Of a replica: up or down.'),
    state: { ...text('In one word: Running, Starting, Stopped, Fenced or Degraded.'), isNew: true },
    message: { ...text('What is wrong, and the way out.'), isNew: true },
    keys: { ...count('How many keys it holds.'), isNew: true },
    observedGeneration: { ...count('The metadata.generation that this is about.'), isNew: true },
    config: {
      type: 'map',
      isNew: true,
      description: 'What has become of each key of spec.redis, and of what spec.memory stands for.',
      values: KEY,
    },
    credentials: CREDENTIALS,
    acl: ACL,
    tls: TLS,
    ...OPERATOR_INSTANCE,
  },
} as const satisfies ObjectField;

export type InstanceStatus = ValueOf<typeof INSTANCE>;
