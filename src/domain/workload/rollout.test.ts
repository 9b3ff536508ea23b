import { expect, test } from 'vitest';
import { objectOf, rowOf } from '../../../test/conformance/given.ts';
import { isRolledOut } from './rollout.ts';

test.each([
  ['none wanted, none there', {}, true],
  ['paused before its controller made any: a scale would bring pods of the template before', { paused: true }, false],
])('a Deployment without pods: %s', (_, spec, isComplete) => {
  const object = objectOf({ spec: { replicas: 0, ...spec }, status: { observedGeneration: 1 } });
  expect(isRolledOut(rowOf('Deployment'), { ...object, metadata: { ...object.metadata, generation: 1 } })).toBe(
    isComplete,
  );
});
