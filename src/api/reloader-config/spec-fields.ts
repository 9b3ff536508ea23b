import { WORKLOAD_KINDS } from '../kinds.ts';
import type { ObjectField, ValueOf } from '../schema/field.ts';
import { flag, text } from '../schema/short-forms.ts';
import { SOURCE_KINDS } from '../sources.ts';

const texts = (description: string, each: string) => ({ type: 'array', description, items: text(each) }) as const;
const labels = (description: string) =>
  ({ type: 'map', description, values: text('The value of the label.') }) as const;

const selector = (description: string) =>
  ({
    type: 'object',
    description,
    isAtomic: true,
    properties: {
      matchLabels: labels('Labels that must be there with these values.'),
      matchExpressions: {
        type: 'array',
        description: 'Conditions on labels, all of which must hold.',
        items: {
          type: 'object',
          description: 'A condition on one label.',
          required: ['key', 'operator'],
          properties: {
            key: text('The key of the label.'),
            operator: text('In, NotIn, Exists or DoesNotExist.'),
            values: texts('For In and NotIn: at least one. For the others: none.', 'A value of the label.'),
          },
        },
      },
    },
  }) as const;

const RELOAD_STRATEGY = 'How a change is marked in the pod template: env-vars or annotations.';
const ROLLOUT_STRATEGY =
  'rollout changes the pod template, so that all pods are replaced as for any other edit. restart leaves it as it is and ' +
  'evicts the pods one by one, within their disruption budgets; not for a CronJob or a Job.';
const FROM_TARGET = 'Missing: as the spec says.';
const FROM_FLAG = 'Counts where a target says nothing. Missing: as the flag of the controller says.';

const WATCHED = {
  type: 'object',
  description: 'The sources whose changes reload the targets. Names, resourceSelector and autoReloadAll add up.',
  properties: {
    secrets: texts(
      'Names of Secrets in the namespace of this object, and in those of namespaceSelector. What can be the name of an ' +
        'object means exactly this one; anything else is an RE2 regular expression that the whole name must match.',
      'A name or an expression.',
    ),
    configMaps: texts('Names of ConfigMaps, understood as those of Secrets.', 'A name or an expression.'),
    enableTargetedReload: flag('Makes requireReference of the targets count.'),
    namespaceSelector: selector(
      'Labels of further namespaces whose sources are watched too, if such a Namespace allows it by its annotation ' +
        'attune.dev/allow-reloads-from, or the controller by its flag --allow-reloads.',
    ),
    resourceSelector: selector(
      'Labels of ConfigMaps and Secrets that are watched, whatever their names. {} selects all.',
    ),
  },
} as const;

const TARGET = {
  type: 'object',
  description: 'A workload that is reloaded.',
  required: ['kind', 'name'],
  properties: {
    kind: text(`One of ${WORKLOAD_KINDS.map(({ kind }) => kind).join(', ')}.`),
    name: text('The name of the workload. It may be created later.'),
    namespace: text(
      'Missing: that of this object. Another one must allow it by its annotation attune.dev/allow-reloads-from, or the ' +
        'controller by its flag --allow-reloads.',
    ),
    rolloutStrategy: text(`${ROLLOUT_STRATEGY} ${FROM_TARGET}`),
    reloadStrategy: text(`${RELOAD_STRATEGY} ${FROM_TARGET}`),
    pausePeriod: text(
      'A duration like 5m or 1h30m. The first change reloads at once; for this long nothing more does; then one reload ' +
        'brings everything that came meanwhile. spec.paused of a Deployment is not touched.',
    ),
    requireReference: flag(
      'With enableTargetedReload: only changes of sources that the pod template of this workload names.',
    ),
  },
} as const;

const IGNORED = {
  type: 'object',
  description: 'A source whose changes reload nothing on behalf of this object.',
  required: ['kind', 'name'],
  properties: {
    kind: text(`One of ${SOURCE_KINDS.join(', ')}.`),
    name: text('The name of the source.'),
    namespace: text('Missing: in any namespace.'),
  },
} as const;

/** `spec` of a ReloaderConfig: schema, types and documentation come from here. */
export const SPEC = {
  type: 'object',
  description: 'Which workloads are reloaded when which ConfigMaps and Secrets change.',
  properties: {
    watchedResources: WATCHED,
    targets: { type: 'array', description: 'The workloads that are reloaded.', items: TARGET },
    rolloutStrategy: text(`${ROLLOUT_STRATEGY} ${FROM_FLAG}`),
    reloadStrategy: text(`${RELOAD_STRATEGY} ${FROM_FLAG}`),
    autoReloadAll: flag('Each target is also reloaded for every source that its own pod template names.'),
    ignoreResources: {
      type: 'array',
      description:
        'Sources that are left out, whatever else is said here. Other objects and annotations are not concerned.',
      items: IGNORED,
    },
    matchLabels: labels('Labels that a source must also have, however it is named.'),
    alerts: {
      ...flag(
        'false: what this object leads to is not sent to the alert sink, unless somebody else asks for the same.',
      ),
      isNew: true,
    },
    reloadOnCreate: {
      ...flag('Whether a source that is created reloads. Missing: as the flag of the controller says.'),
      isNew: true,
    },
    reloadOnDelete: {
      ...flag('Whether a source that is deleted reloads. Missing: as the flag of the controller says.'),
      isNew: true,
    },
  },
} as const satisfies ObjectField;

export type ReloaderConfigSpec = ValueOf<typeof SPEC>;
