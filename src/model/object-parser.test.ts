import { expect, test } from 'vitest';
import { digest, objectOf, rowOf } from '../../test/conformance/given.ts';
import { DEFAULT_KEYS } from '../api/annotations.ts';
import type { KubeObject } from '../api/objects.ts';
import { createObjectParser } from './object-parser.ts';

const KIND = rowOf('Deployment');
const SLIP = { 'reloader.stakater.com/autos': 'true' };
const parser = (compat: boolean) => createObjectParser({ keys: DEFAULT_KEYS, compat, digest });

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
