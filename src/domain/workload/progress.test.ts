import { describe, expect, test } from 'vitest';
import { rowOf } from '../../../test/conformance/given.ts';
import type { KindName } from '../../api/kinds.ts';
import type { KubeObject } from '../../api/objects.ts';
import { holdOf, progressOf } from './progress.ts';

const object = (status: object | undefined, spec: object = {}): KubeObject =>
  ({ metadata: { name: 'web', uid: 'u', resourceVersion: '1', generation: 2 }, spec, status }) as KubeObject;
const progress = (kind: KindName, status: object | undefined) => progressOf(rowOf(kind), object(status));
const hold = (_kind: KindName, spec: object, status: object = { observedGeneration: 2 }) =>
  holdOf(object(status, spec));

describe('how many pods are of the present template', () => {
  test.each<[KindName, object]>([
    ['Deployment', { observedGeneration: 2, replicas: 3, updatedReplicas: 1 }],
    ['StatefulSet', { observedGeneration: 2, replicas: 3, updatedReplicas: 1 }],
    ['DaemonSet', { observedGeneration: 2, currentNumberScheduled: 3, updatedNumberScheduled: 1 }],
    ['Rollout', { observedGeneration: '2', replicas: 3, updatedReplicas: 1 }],
    ['DeploymentConfig', { observedGeneration: 2, replicas: 3, updatedReplicas: 1 }],
  ])('%s', (kind, status) => expect(progress(kind, status)).toEqual({ pods: 3, updated: 1 }));

  test('what is missing is none', () => {
    expect(progress('Deployment', { observedGeneration: 2, replicas: 1 })).toEqual({ pods: 1, updated: 0 });
  });

  test.each<[KindName, object | undefined]>([
    ['Deployment', undefined],
    ['Deployment', { observedGeneration: 1, replicas: 3, updatedReplicas: 3 }],
    ['Job', { active: 1 }],
  ])('%s with %j says nothing', (kind, status) => expect(progress(kind, status)).toBeUndefined());
});

describe('what keeps pods from being replaced', () => {
  test.each<[KindName, object, string]>([
    ['Deployment', { paused: true }, 'paused'],
    ['Deployment', {}, 'rolling'],
    ['StatefulSet', { updateStrategy: { type: 'OnDelete' } }, 'on-delete'],
    ['DaemonSet', { updateStrategy: { type: 'OnDelete' } }, 'on-delete'],
    ['StatefulSet', { updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 2 } } }, 'partition'],
    ['StatefulSet', { updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } } }, 'rolling'],
    ['Rollout', { paused: true }, 'paused'],
  ])('%s %j: %s', (kind, spec, expected) => expect(hold(kind, spec)).toBe(expected));

  test('its controller has yet to look', () => {
    expect(hold('Deployment', {}, { observedGeneration: 1 })).toBe('unseen');
    expect(hold('Rollout', {}, { observedGeneration: '2', pauseConditions: [{ reason: 'CanaryPauseStep' }] })).toBe(
      'paused',
    );
  });
});
