import type { Field } from '../schema/field.ts';
import { flag, text } from '../schema/short-forms.ts';

/** Of a field that only an operator which makes pods reads. */
const UNREAD = 'Not read by the agent.';

const number = (minimum: number, description: string) =>
  ({ type: 'integer', format: 'int32', minimum, description: `${description} ${UNREAD}` }) as const;

/** A type of Kubernetes that is passed on as it is. */
const open = (description: string) => ({ type: 'object', description, properties: {}, isOpen: true }) as const;

const secret = (description: string) =>
  ({
    type: 'object',
    description: `${description} ${UNREAD}`,
    required: ['name'],
    properties: { name: text('The name of the Secret.') },
  }) as const;

/** Fields of `spec` that an operator needs to make the pods: accepted, so that an object made for one is valid as it is. */
export const OPERATOR_SPEC = {
  instances: number(0, 'How many data pods there are. Where a StatefulSet makes them its replicas count.'),
  shards: number(3, 'How many shards a Redis Cluster has.'),
  replicasPerShard: number(0, 'How many replicas each shard has.'),
  minSyncReplicas: number(0, 'The least number of replicas in sync.'),
  maxSyncReplicas: number(0, 'The largest number of replicas in sync.'),
  primaryUpdateStrategy: {
    type: 'string',
    enum: ['unsupervised', 'supervised'],
    description: `Whether somebody has to approve that the primary is updated. ${UNREAD}`,
  },
  imageName: text(`The image of Redis. ${UNREAD}`),
  storage: {
    type: 'object',
    description: `Where the data is kept. ${UNREAD}`,
    properties: {
      type: {
        type: 'string',
        enum: ['pvc', 'emptyDir'],
        default: 'pvc',
        description: 'A claim for a volume, or a folder that goes with the pod.',
      },
      size: { type: 'quantity', default: '1Gi', description: 'How much of it.' },
      storageClassName: text('The StorageClass of the claim. Missing: that of the cluster.'),
    },
  },
  enablePodDisruptionBudget: flag(`Whether there is a PodDisruptionBudget. ${UNREAD}`),
  backupCredentialsSecret: secret('The Secret that opens the place of the backups.'),
  connectionSecret: secret('The Secret in which applications find how to connect.'),
  nodeSelector: {
    type: 'map',
    description: `Labels of the nodes for the pods. ${UNREAD}`,
    values: text('The value of the label.'),
  },
  affinity: open(`Which nodes and which neighbours the pods prefer, as in a pod. ${UNREAD}`),
  tolerations: {
    type: 'array',
    description: `Taints of nodes that the pods tolerate, as in a pod. ${UNREAD}`,
    items: open('A toleration.'),
  },
  topologySpreadConstraints: {
    type: 'array',
    description: `How the pods are spread, as in a pod. ${UNREAD}`,
    items: open('A constraint.'),
  },
  bootstrap: {
    type: 'object',
    description: `Where the first data comes from. ${UNREAD}`,
    properties: { backupName: text('The name of a RedisBackup.') },
  },
  nodeMaintenanceWindow: {
    type: 'object',
    description: `Somebody works on the nodes. ${UNREAD}`,
    required: ['inProgress'],
    properties: {
      inProgress: flag('Whether it is so now.'),
      reusePVC: { ...flag('Whether a pod waits for its volume instead of getting a new one.'), default: true },
    },
  },
} as const satisfies Readonly<Record<string, Field>>;
