import { expect, test } from 'vitest';
import type { KubeObject } from '../../api/objects.ts';
import { agesOf, beganAt, isRunning } from './pod-age.ts';

const NOON = Date.UTC(2030, 0, 31, 12);
const pod = (fields: object, metadata: object = {}): KubeObject =>
  ({
    metadata: { name: 'p', uid: 'u', resourceVersion: '1', creationTimestamp: '2030-01-31T12:00:00Z', ...metadata },
    ...fields,
  }) as KubeObject;
const scheduled = (time: string, status = 'True') => ({
  spec: { nodeName: 'n' },
  status: { conditions: [{ type: 'PodScheduled', status, lastTransitionTime: time }] },
});

test('a pod reads its data after it was given a node, and not before', () => {
  expect(beganAt(pod(scheduled('2030-01-31T12:00:07Z')))).toBe(NOON + 7000);
  expect(beganAt(pod({ spec: { nodeName: 'n' } }))).toBe(NOON);
  expect(beganAt(pod({ spec: {}, ...{ status: scheduled('2030-01-31T12:00:07Z', 'False').status } }))).toBe(
    Number.POSITIVE_INFINITY,
  );
});

test('what has ended or is about to runs with nothing any more', () => {
  expect(isRunning(pod({ status: { phase: 'Pending' } }))).toBe(true);
  expect(isRunning(pod({ status: { phase: 'Running' } }))).toBe(true);
  expect(isRunning(pod({ status: { phase: 'Succeeded' } }))).toBe(false);
  expect(isRunning(pod({ status: { phase: 'Failed' } }))).toBe(false);
  expect(isRunning(pod({ status: { phase: 'Running' } }, { deletionTimestamp: '2030-01-31T12:00:00Z' }))).toBe(false);
});

test('within a second nobody can tell what came first', () => {
  const times = [NOON - 1000, NOON, NOON + 1000, Number.POSITIVE_INFINITY];
  expect(agesOf(times, NOON)).toEqual({ total: 4, older: 1, unclear: 1 });
  expect(agesOf(times, NOON + 999)).toEqual({ total: 4, older: 1, unclear: 1 });
  expect(agesOf([], NOON)).toEqual({ total: 0, older: 0, unclear: 0 });
});
