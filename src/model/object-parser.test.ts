import { expect, test } from 'vitest';
import { digest, objectOf, rowOf } from '../../test/conformance/given.ts';
import { stepsOf } from '../../test/support/steps.ts';
import { DEFAULT_KEYS, SAP_DISABLING_LABELS } from '../api/annotations.ts';
import type { KubeObject } from '../api/objects.ts';
import { createObjectParser, dataWrittenAt } from './object-parser.ts';

const KIND = rowOf('Deployment');
const SLIP = { 'reloader.stakater.com/autos': 'true' };
const parser = (compat: boolean) => createObjectParser({ keys: DEFAULT_KEYS, compat, sapCompat: false, digest });

/** A version of the same object: annotations and labels move no generation. */
function version(metadata: object): KubeObject {
  const object = objectOf({});
  return { ...object, metadata: { ...object.metadata, generation: 1, ...metadata } };
}

test.each([{ annotations: SLIP }, { labels: { [DEFAULT_KEYS.auto]: 'true' } }])(
  'a slip that is made later, and one that is mended, is noticed: %j',
  (slip) => {
    const { workload } = parser(false);
    const before = workload(KIND, version({}));
    const slipped = workload(KIND, version(slip), before);
    expect(slipped.workload.intent.problems).toHaveLength(1);
    expect(workload(KIND, version({}), slipped).workload.intent.problems).toEqual([]);
  },
);

test.each(SAP_DISABLING_LABELS)('the label %s is noticed, though it moves no generation', (label) => {
  const { workload } = parser(false);
  const before = workload(KIND, version({}));
  const labelled = workload(KIND, version({ labels: { [label]: 'true' } }), before);
  expect(labelled.workload.labels).toEqual({ [label]: 'true' });
  expect(workload(KIND, version({}), labelled).workload.labels).toEqual({});
});

test('while only status moves, the same intent is handed back', () => {
  for (const [compat, metadata] of [
    [false, { annotations: SLIP }],
    [false, {}],
    [true, { annotations: SLIP }],
  ] as const) {
    const { workload } = parser(compat);
    const before = workload(KIND, version(metadata));
    expect(workload(KIND, version({ ...metadata, resourceVersion: '42' }), before).workload.intent).toBe(
      before.workload.intent,
    );
  }
});

test('a status event does not look for slips in a long list again', () => {
  const { workload } = parser(false);
  const received = (resourceVersion: string): KubeObject =>
    version({ annotations: { [DEFAULT_KEYS.named.ConfigMap]: 'a*,'.repeat(65_000) }, resourceVersion });
  const before = workload(KIND, received('41'));
  const steps = stepsOf(() => {
    expect(workload(KIND, received('42'), before).workload.intent).toBe(before.workload.intent);
  });
  expect(steps).toBeLessThan(1000);
});

test('equal Secrets of two namespaces have other fingerprints; one that is made anew has the same', () => {
  const secret = (metadata: object) => ({
    metadata: { name: 'db', namespace: 'shop', uid: 'u-1', resourceVersion: '7', ...metadata },
    data: { pin: 'MTIzNA==' },
  });
  const { source } = parser(false);
  const exact = (metadata: object) => source('Secret', secret(metadata), true, undefined).fingerprint?.exact;
  expect(new Set([exact({}), exact({ namespace: 'other' }), exact({ name: 'other' })]).size).toBe(3);
  expect(exact({ uid: 'u-2', resourceVersion: '9' })).toBe(exact({}));
});

test('what the pods of one class say can be compared, whatever their status objects are called', () => {
  const status = (name: string, namespace: string, className: string) => ({
    metadata: { name, namespace, uid: name, resourceVersion: '7' },
    status: { secretProviderClassName: className, objects: [{ id: 'db', version: '1' }] },
  });
  const { classStatus } = parser(false);
  const exact = (...of: Parameters<typeof status>) => classStatus(status(...of))?.fingerprint.exact;
  expect(exact('web-1-shop-vault', 'shop', 'vault')).toBe(exact('web-2-shop-vault', 'shop', 'vault'));
  expect(exact('web-1-shop-vault', 'other', 'vault')).not.toBe(exact('web-1-shop-vault', 'shop', 'vault'));
});

test('a source carries the uid of its object', () => {
  const object = { metadata: { name: 'app', namespace: 'shop', uid: 'u-1', resourceVersion: '7' } };
  for (const full of [true, false]) {
    expect(parser(false).source('ConfigMap', object, full, undefined).uid).toBe('u-1');
  }
});

test.each([
  ['never since its creation', [{ time: '10:05', fieldsV1: { 'f:metadata': {} } }], '10:00', undefined],
  [
    'later',
    [
      { time: '10:07', fieldsV1: { 'f:data': {} } },
      { time: '10:06', fieldsV1: { 'f:binaryData': {} } },
    ],
    '10:07',
    '10:07',
  ],
  ['nobody knows when', [], undefined, undefined],
])('the data of a source was written %s', (_when, managedFields, written, edited) => {
  const metadata = { name: 'app', uid: 'u', resourceVersion: '7', creationTimestamp: '10:00', managedFields };
  expect(dataWrittenAt({ metadata })).toBe(written);
  expect(parser(false).source('ConfigMap', { metadata }, true, undefined).editedAt).toBe(edited);
});
