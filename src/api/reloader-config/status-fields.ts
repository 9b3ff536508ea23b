import type { ObjectField, ValueOf } from '../schema/field.ts';
import { count, text, time } from '../schema/short-forms.ts';

const CONDITION = {
  type: 'object',
  description: 'One aspect of the state.',
  required: ['type', 'status', 'lastTransitionTime', 'reason', 'message'],
  properties: {
    type: text('Available, Progressing or Degraded.'),
    status: text('True, False or Unknown.'),
    observedGeneration: count('The metadata.generation that this is about.'),
    lastTransitionTime: time('When the status last became another one.'),
    reason: text('The reason in one word.'),
    message: text('The same for people: every problem, with the path of its field and what to do.'),
  },
} as const;

const RESTART = {
  type: 'object',
  description: 'Pods that are being evicted one by one.',
  isNew: true,
  properties: {
    pods: count('How many there are to be replaced.'),
    left: count('How many of them are left.'),
    message: text('What the next one waits for.'),
  },
} as const;

const TARGET_STATUS = {
  type: 'object',
  description: 'What is known about one target.',
  required: ['kind', 'name', 'namespace'],
  properties: {
    kind: text('The kind of the workload.'),
    name: text('The name of the workload.'),
    namespace: text('The namespace of the workload.'),
    lastReloadTime: time('When this object last made it reload.'),
    reloadCount: count('How often this object made it reload.'),
    pausedUntil: time('The end of its pausePeriod, while it lasts.'),
    lastError: text('Why the last reload failed; gone after one that did not.'),
    reloadStrategy: { ...text('The reload strategy that counts, wherever it is set.'), isNew: true },
    rolloutStrategy: { ...text('The rollout strategy that counts, wherever it is set.'), isNew: true },
    decidedBy: { ...text('An older ReloaderConfig that names the same workload: its strategies count.'), isNew: true },
    restart: RESTART,
  },
} as const;

/** `status` of a ReloaderConfig. No decision is made by it. */
export const STATUS = {
  type: 'object',
  description: 'What has become of it. Written by the controller, and never read to decide anything.',
  properties: {
    conditions: {
      type: 'array',
      key: 'type',
      description:
        'Available: what is valid in it is watched. Progressing: a change is on its way to a target. Degraded: something ' +
        'cannot be done; the message names every problem.',
      items: CONDITION,
    },
    observedGeneration: count('The metadata.generation that this status is about.'),
    reloadCount: count('How many changes this object made a workload reload for.'),
    lastReloadTime: time('When it last did.'),
    watchedResourceHashes: {
      type: 'map',
      description:
        'The watched sources that exist, by namespace/Kind/name, with a keyed digest of their data: it tells whether they ' +
        'changed, and nothing else. At most 100.',
      values: text('The digest.'),
    },
    watchedResourceCount: { ...count('How many sources are watched.'), isNew: true },
    targetStatus: { type: 'array', description: 'The targets, at most 100.', items: TARGET_STATUS },
    targetCount: { ...count('How many targets there are.'), isNew: true },
  },
} as const satisfies ObjectField;

export type ReloaderConfigStatus = ValueOf<typeof STATUS>;
export type ConfigCondition = ValueOf<typeof CONDITION>;
export type ConfigTargetStatus = ValueOf<typeof TARGET_STATUS>;
