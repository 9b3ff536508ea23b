import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { KubeObject } from '../../api/objects.ts';
import { applyEdit, jobFromCronJob, replacementJob } from './job.ts';
import type { TemplateEdit } from './template-edit.ts';

const edit: TemplateEdit = {
  env: [
    { container: 0, containerName: 'a', variable: 'NEW', value: '1', index: undefined },
    { container: 0, containerName: 'a', variable: 'SET', value: '2', index: 0 },
    { container: 0, containerName: 'a', variable: 'GONE', value: undefined, index: 1 },
  ],
  annotations: { note: 'x' },
  jsonPatch: false,
};

test('variables are appended, set and removed, and the template given is left as it is', () => {
  const template = {
    metadata: { labels: { a: 'b' } },
    spec: {
      containers: [
        {
          name: 'a',
          env: [
            { name: 'SET', value: '0' },
            { name: 'GONE', value: 'x' },
          ],
        },
        { name: 'b' },
      ],
    },
  };
  const before = structuredClone(template);
  expect(applyEdit(template, edit)).toEqual({
    metadata: { labels: { a: 'b' }, annotations: { note: 'x' } },
    spec: {
      containers: [
        {
          name: 'a',
          env: [
            { name: 'SET', value: '2' },
            { name: 'NEW', value: '1' },
          ],
        },
        { name: 'b' },
      ],
    },
  });
  expect(template).toEqual(before);
});

test('odd objects give odd Jobs, but nothing throws', () => {
  fc.assert(
    fc.property(fc.anything(), fc.anything(), (spec, inner) => {
      const metadata = { name: 'x', namespace: 'y', uid: 'u', resourceVersion: '1' };
      for (const odd of [spec, { jobTemplate: { spec: inner, metadata: inner }, template: inner, selector: inner }]) {
        const object = { metadata, spec: odd } as KubeObject;
        expect(jobFromCronJob(object, edit, {})['kind']).toBe('Job');
        expect(replacementJob(object, edit)['kind']).toBe('Job');
      }
    }),
  );
});
