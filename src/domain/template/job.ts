import { type JsonObject, listIn, objectAt, objectIn, textIn } from '../../api/json.ts';
import type { KubeObject } from '../../api/objects.ts';
import type { TemplateEdit } from './template-edit.ts';

export interface NewJob {
  /** The same for the same run, so that a second attempt finds the first; undefined: the server chooses. */
  readonly name?: string | undefined;
  /** Ours, beside those of the job template. */
  readonly annotations?: Readonly<Record<string, string>> | undefined;
}

/** The Job that a CronJob would start by hand, with the edit applied. The CronJob itself is left as it is. */
export function jobFromCronJob(cronJob: KubeObject, edit: TemplateEdit | undefined, job: NewJob): JsonObject {
  const { name, namespace, uid } = cronJob.metadata;
  const jobTemplate = objectAt(cronJob, ['spec', 'jobTemplate']);
  const metadata = objectIn(jobTemplate['metadata']);
  const spec = objectIn(jobTemplate['spec']);
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      ...(job.name === undefined ? { generateName: `${name}-` } : { name: job.name }),
      namespace,
      ...(metadata['labels'] ? { labels: metadata['labels'] } : {}),
      annotations: {
        'cronjob.kubernetes.io/instantiate': 'manual',
        ...objectIn(metadata['annotations']),
        ...job.annotations,
      },
      ownerReferences: [
        { apiVersion: 'batch/v1', kind: 'CronJob', name, uid, controller: true, blockOwnerDeletion: true },
      ],
    },
    spec: { ...spec, template: applyEdit(objectIn(spec['template']), edit) },
  };
}

/** What the server or the Job controller puts into a Job, and does not accept in a new one. */
const SERVER_OWNED = [
  'resourceVersion',
  'uid',
  'creationTimestamp',
  'generation',
  'managedFields',
  'selfLink',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
];
const CONTROLLER_LABELS = [
  'controller-uid',
  'batch.kubernetes.io/controller-uid',
  'job-name',
  'batch.kubernetes.io/job-name',
];

/** The same Job to be created anew under the same name, with the edit applied: a Job's template cannot be changed. */
export function replacementJob(
  job: KubeObject,
  edit: TemplateEdit | undefined,
  ours: Readonly<Record<string, string>> = {},
): JsonObject {
  const spec = objectIn(objectIn(job)['spec']);
  // With a selector of the user's own the labels are the user's too, and the server insists on both.
  const manual = spec['manualSelector'] === true;
  const template = objectIn(spec['template']);
  const metadata = without(objectIn(job.metadata), SERVER_OWNED);
  const annotations = { ...objectIn(metadata['annotations']), ...ours };
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { ...metadata, ...(Object.keys(ours).length > 0 && { annotations }) },
    spec: {
      ...(manual ? spec : without(spec, ['selector'])),
      template: applyEdit(manual ? template : withoutControllerLabels(template), edit),
    },
  };
}

/** A raw pod template with an edit applied in memory; the given one is left as it is. */
export function applyEdit(template: JsonObject, edit: TemplateEdit | undefined): JsonObject {
  if (edit === undefined) return template;
  const metadata = objectIn(template['metadata']);
  const annotated =
    Object.keys(edit.annotations).length === 0
      ? {}
      : { metadata: { ...metadata, annotations: { ...objectIn(metadata['annotations']), ...edit.annotations } } };
  if (edit.env.length === 0) return { ...template, ...annotated };
  const spec = objectIn(template['spec']);
  const containers = listIn(spec['containers']).map((container, index) =>
    edit.env
      .filter((entry) => entry.container === index)
      .reduce((edited, entry) => withVariable(edited, entry.variable, entry.value), objectIn(container)),
  );
  return { ...template, ...annotated, spec: { ...spec, containers } };
}

/** As upstream: the first variable of the name is set or removed, a missing one is appended. */
function withVariable(container: JsonObject, name: string, value: string | undefined): JsonObject {
  const env = listIn(container['env']);
  const index = env.findIndex((entry) => textIn(objectIn(entry)['name']) === name);
  if (value === undefined) return index < 0 ? container : { ...container, env: env.toSpliced(index, 1) };
  return { ...container, env: index < 0 ? [...env, { name, value }] : env.with(index, { name, value }) };
}

function withoutControllerLabels(template: JsonObject): JsonObject {
  const metadata = objectIn(template['metadata']);
  if (metadata['labels'] === undefined) return template;
  return { ...template, metadata: { ...metadata, labels: without(objectIn(metadata['labels']), CONTROLLER_LABELS) } };
}

function without(object: JsonObject, members: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([member]) => !members.includes(member)));
}
