import { expect, test } from 'vitest';
import type { KubeObject } from '../../src/api/objects.ts';
import { jobFromCronJob, replacementJob } from '../../src/domain/template/job.ts';
import type { TemplateEdit } from '../../src/domain/template/template-edit.ts';
import { HASH_A } from './given.ts';

const mark = { name: 'STAKATER_FOO_CONFIGMAP', value: HASH_A };
const edit: TemplateEdit = {
  env: [{ container: 0, containerName: 'app', variable: mark.name, value: mark.value, index: undefined }],
  annotations: {},
  jsonPatch: false,
};

const cronJob = {
  metadata: { name: 'nightly', namespace: 'shop', uid: 'uid-1', resourceVersion: '41', labels: { not: 'this' } },
  spec: {
    schedule: '0 3 * * *',
    suspend: true,
    jobTemplate: {
      metadata: { labels: { app: 'nightly' }, annotations: { note: 'x' } },
      spec: {
        backoffLimit: 2,
        template: { spec: { restartPolicy: 'Never', containers: [{ name: 'app', image: 'i' }] } },
      },
    },
  },
} satisfies KubeObject & Record<string, unknown>;

test('a CronJob starts a Job as if by hand', () => {
  expect(jobFromCronJob(cronJob, edit, {})).toEqual({
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      generateName: 'nightly-',
      namespace: 'shop',
      labels: { app: 'nightly' },
      annotations: { 'cronjob.kubernetes.io/instantiate': 'manual', note: 'x' },
      ownerReferences: [
        {
          apiVersion: 'batch/v1',
          kind: 'CronJob',
          name: 'nightly',
          uid: 'uid-1',
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    },
    spec: {
      backoffLimit: 2,
      template: { spec: { restartPolicy: 'Never', containers: [{ name: 'app', image: 'i', env: [mark] }] } },
    },
  });
});

test('the annotations of the job template win, and the CronJob itself is left as it is', () => {
  const before = structuredClone(cronJob);
  const own = structuredClone(cronJob);
  Object.assign(own.spec.jobTemplate.metadata.annotations, { 'cronjob.kubernetes.io/instantiate': 'mine' });
  const job = jobFromCronJob(own, edit, { name: 'nightly-1', annotations: { ours: 'y' } });
  expect(job['metadata']).toMatchObject({
    name: 'nightly-1',
    annotations: { 'cronjob.kubernetes.io/instantiate': 'mine', note: 'x', ours: 'y' },
  });
  jobFromCronJob(cronJob, edit, {});
  expect(cronJob).toEqual(before);
});

const generated = {
  'controller-uid': 'u',
  'batch.kubernetes.io/controller-uid': 'u',
  'job-name': 'once',
  'batch.kubernetes.io/job-name': 'once',
};
const owner = { apiVersion: 'v1', kind: 'X', name: 'x', uid: 'u', controller: true };
const job = {
  metadata: {
    name: 'once',
    namespace: 'shop',
    uid: 'uid-1',
    resourceVersion: '41',
    creationTimestamp: '2026-01-31T12:00:00Z',
    generation: 1,
    managedFields: [],
    labels: { app: 'once', ...generated },
    annotations: { a: 'b' },
    finalizers: ['x/y'],
    ownerReferences: [owner],
  },
  spec: {
    backoffLimit: 2,
    selector: { matchLabels: { 'controller-uid': 'u' } },
    template: { metadata: { labels: { app: 'once', ...generated } }, spec: { containers: [{ name: 'app' }] } },
  },
  status: { succeeded: 1 },
};

test('a Job is created anew under its name without what the server and the controller gave it', () => {
  expect(replacementJob(job, edit)).toEqual({
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      name: 'once',
      namespace: 'shop',
      labels: { app: 'once', ...generated },
      annotations: { a: 'b' },
      finalizers: ['x/y'],
      ownerReferences: [owner],
    },
    spec: {
      backoffLimit: 2,
      template: { metadata: { labels: { app: 'once' } }, spec: { containers: [{ name: 'app', env: [mark] }] } },
    },
  });
});

test('a Job with a selector of its own keeps it, or nobody would admit it', () => {
  const manual = { ...job, spec: { ...job.spec, manualSelector: true } };
  expect(replacementJob(manual, undefined)['spec']).toEqual(manual.spec);
});
