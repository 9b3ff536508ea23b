import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Pod, PodContainer } from './pod.ts';
import { ContainerConfigError, expand, parseQuantity, podEnvironment, type ReadData } from './pod-environment.ts';

const pod: Pod = {
  metadata: {
    name: 'one',
    namespace: 'space',
    uid: 'u',
    resourceVersion: '1',
    labels: { 'a.b/c': 'label' },
    annotations: { note: 'yes' },
  },
  spec: { nodeName: 'node-0', serviceAccountName: 'account', containers: [] },
};
const objects: Record<string, Record<string, string>> = {
  'Secret/s': { key: 'hidden' },
  'ConfigMap/c': { key: 'seen' },
};
const read: ReadData = async (kind, name) => objects[`${kind}/${name}`];
const environment = (container: Partial<PodContainer>) =>
  podEnvironment(pod, { name: 'main', image: 'attune', ...container }, '127.1.2.3', read);

describe('the environment of a pod', () => {
  test.each([
    ['metadata.name', 'one'],
    ['metadata.namespace', 'space'],
    ["metadata.labels['a.b/c']", 'label'],
    ["metadata.annotations['note']", 'yes'],
    ["metadata.annotations['none']", ''],
    ['spec.nodeName', 'node-0'],
    ['spec.serviceAccountName', 'account'],
    ['status.podIP', '127.1.2.3'],
  ])('%s', async (fieldPath, value) => {
    expect(await environment({ env: [{ name: 'X', valueFrom: { fieldRef: { fieldPath } } }] })).toEqual({ X: value });
  });

  test.each([
    ['limits.memory', undefined, '512Mi', String(512 * 2 ** 20)],
    ['limits.memory', '1Mi', '512Mi', '512'],
    ['limits.cpu', undefined, '1500m', '2'],
    ['limits.cpu', '1m', '1500m', '1500'],
  ])('%s in units of %s', async (resource, divisor, limit, value) => {
    const name = resource.split('.')[1] ?? '';
    const resourceFieldRef = divisor === undefined ? { resource } : { resource, divisor };
    const env = [{ name: 'X', valueFrom: { resourceFieldRef } }];
    expect(await environment({ env, resources: { limits: { [name]: limit } } })).toEqual({ X: value });
  });

  test('later variables see earlier ones, and an own variable wins over a whole object', async () => {
    const env = [
      { name: 'key', value: 'own' },
      { name: 'BOTH', value: '$(key)/$(none)' },
    ];
    const envFrom = [{ configMapRef: { name: 'c' } }, { prefix: 'P_', secretRef: { name: 's' } }];
    expect(await environment({ env, envFrom })).toEqual({ key: 'own', BOTH: 'own/$(none)', P_key: 'hidden' });
  });

  test('what is missing and not optional stops the start, without a value in the words', async () => {
    const ref = { name: 's', key: 'other' };
    const needs = environment({ env: [{ name: 'X', valueFrom: { secretKeyRef: ref } }] });
    await expect(needs).rejects.toThrow(ContainerConfigError);
    await expect(needs).rejects.not.toThrow('hidden');
    const env = [{ name: 'X', valueFrom: { secretKeyRef: { ...ref, optional: true } } }];
    expect(await environment({ env })).toEqual({});
    await expect(environment({ envFrom: [{ configMapRef: { name: 'none' } }] })).rejects.toThrow(ContainerConfigError);
  });
});

test('a text without $( stays as it is', () => {
  fc.assert(
    fc.property(fc.string(), fc.dictionary(fc.string(), fc.string()), (text, variables) => {
      fc.pre(!text.includes('$('));
      expect(expand(text, variables)).toBe(text);
    }),
  );
});

test.each([
  ['$(A)', 'one'],
  ['$$(A)', '$(A)'],
  ['$(B)', '$(B)'],
  ['x$(A)y$(A)', 'xoneyone'],
])('%s becomes %s', (text, result) => {
  expect(expand(text, { A: 'one' })).toBe(result);
});

test.each([
  ['100m', 0.1],
  ['2', 2],
  ['1.5Gi', 1.5 * 2 ** 30],
  ['1k', 1000],
  ['1e3', 1000],
])('the quantity %s is %d', (text, value) => {
  expect(parseQuantity(text)).toBe(value);
});
