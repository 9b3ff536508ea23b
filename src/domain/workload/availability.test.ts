import { expect, test } from 'vitest';
import { objectOf, rowOf } from '../../../test/conformance/given.ts';
import type { KindName } from '../../api/kinds.ts';
import { availabilityOf } from './availability.ts';

const of = (kind: KindName, spec: Record<string, unknown>, status: Record<string, unknown>) =>
  availabilityOf(rowOf(kind), objectOf({ kind, spec, status }));
const FULL = { replicas: 3, updatedReplicas: 3, availableReplicas: 3, readyReplicas: 3 };
const NODES = { desiredNumberScheduled: 3, updatedNumberScheduled: 3, numberAvailable: 3 };

test.each<[KindName, Record<string, unknown>, Record<string, unknown>, boolean]>([
  ['Deployment', {}, FULL, true],
  ['Deployment', {}, { ...FULL, availableReplicas: 2 }, false],
  ['Deployment', {}, { ...FULL, updatedReplicas: 1 }, false],
  ['Deployment', { paused: true }, { ...FULL, updatedReplicas: 1 }, true],
  ['StatefulSet', {}, { ...FULL, currentRevision: 'a', updateRevision: 'a' }, true],
  ['StatefulSet', {}, { ...FULL, currentRevision: 'a', updateRevision: 'b' }, false],
  ['StatefulSet', { updateStrategy: { type: 'OnDelete' } }, { ...FULL, updateRevision: 'b' }, true],
  ['StatefulSet', { updateStrategy: { rollingUpdate: { partition: 2 } } }, { ...FULL, updateRevision: 'b' }, true],
  ['StatefulSet', {}, { readyReplicas: 3 }, true],
  ['DaemonSet', {}, NODES, true],
  ['DaemonSet', {}, { ...NODES, numberAvailable: 2 }, false],
  ['DeploymentConfig', {}, FULL, true],
  ['DeploymentConfig', {}, { ...FULL, availableReplicas: 2 }, false],
])('%s %j %j can spare a pod: %s', (kind, spec, status, expected) => {
  const { isComplete, wanted } = of(kind, { replicas: 3, ...spec }, { observedGeneration: 0, ...status });
  expect([isComplete, wanted]).toEqual([expected, 3]);
});

test('a status that is about an earlier object says nothing', () => {
  expect(of('Deployment', { replicas: 3 }, { ...FULL, observedGeneration: -1 }).isComplete).toBe(false);
});

test('how long a pod may take', () => {
  expect(of('Deployment', { progressDeadlineSeconds: 30, minReadySeconds: 2 }, {})).toMatchObject({
    ...{ deadlineMs: 30_000, minReadyMs: 2000, wanted: 1 },
  });
  expect(of('StatefulSet', {}, {}).deadlineMs).toBe(600_000);
});
