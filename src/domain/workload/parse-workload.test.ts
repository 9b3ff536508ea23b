import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Given, HASH_A, objectOf, parse, workloadOf } from '../../../test/conformance/given.ts';
import { DEFAULT_KEYS, LAST_RELOADED_FROM, NUDGE, RECORD } from '../../api/annotations.ts';
import { WORKLOAD_KINDS } from '../../api/kinds.ts';
import type { KubeObject } from '../../api/objects.ts';

const mark = { name: 'STAKATER_FOO_CONFIGMAP', value: HASH_A };
const own = { name: 'X', value: '1' };

test('only annotations that a rule reads are kept', () => {
  const workload = workloadOf({
    metadata: { 'kubectl.kubernetes.io/last-applied-configuration': '{}', [DEFAULT_KEYS.auto]: 'true', [RECORD]: 'r' },
    template: { other: 'x', [LAST_RELOADED_FROM]: 'y' },
  });
  expect(workload.annotations).toEqual({ [DEFAULT_KEYS.auto]: 'true', [RECORD]: 'r' });
  expect(workload.templateAnnotations).toEqual({ [LAST_RELOADED_FROM]: 'y' });
  expect(workload).toMatchObject({ hasAnnotations: true, hasTemplateAnnotations: true, hasTemplateMetadata: true });
});

test('what a patch needs to know about containers', () => {
  const { containers } = workloadOf({
    pod: {
      containers: [
        { name: 'a', env: [own, mark] },
        { name: 'b', env: null },
      ],
    },
  });
  expect(containers).toEqual([
    { name: 'a', hasEnv: true, marks: [{ ...mark, index: 1 }] },
    { name: 'b', hasEnv: false, marks: [] },
  ]);
});

test('a variable with a source of its value is no mark', () => {
  const env = [{ name: mark.name, valueFrom: { configMapKeyRef: { name: 'x', key: 'y' } } }];
  expect(workloadOf({ pod: { containers: [{ name: 'a', env }] } }).containers[0]?.marks).toEqual([]);
});

test('the states of kinds', () => {
  expect(workloadOf({ spec: { paused: true } }).paused).toBe(true);
  expect(workloadOf({ kind: 'CronJob', spec: { suspend: true } }).suspended).toBe(true);
  const workloadRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'x' };
  expect(workloadOf({ kind: 'Rollout', spec: { workloadRef } }).workloadRef).toEqual({ kind: 'Deployment', name: 'x' });
  const job = objectOf({ kind: 'Job' });
  const conditions = [
    { type: 'Suspended', status: 'False' },
    { type: 'Failed', status: 'True' },
  ];
  expect(parse('Job', { ...job, status: { conditions } } as KubeObject).finished).toBe(true);
  expect(parse('Job', job).finished).toBe(false);
  const ownerReferences = [
    { kind: 'A', name: 'a' },
    { kind: 'CronJob', name: 'nightly', controller: true },
  ];
  const owned = { ...job, metadata: { ...job.metadata, ownerReferences } };
  expect(parse('Job', owned).owner).toEqual({ kind: 'CronJob', name: 'nightly' });
});

test.each([
  ['7', 'r7'],
  ['x', 'g0'],
  ['9'.repeat(200_000), 'g0'],
])('a revision is a number that a controller counts, and no text of a tenant: %.9s', (count, revision) => {
  expect(workloadOf({ metadata: { 'deployment.kubernetes.io/revision': count } }).revision).toBe(revision);
});

test('the template of a CronJob is the one of its pods', () => {
  const workload = workloadOf({ kind: 'CronJob', template: { [DEFAULT_KEYS.auto]: 'true' } });
  expect(workload.containers).toHaveLength(1);
  expect(workload.intent.asks[0]).toMatchObject({ because: 'auto', origin: { place: 'template', value: 'true' } });
});

describe('the digest of the template', () => {
  const bare: Given = { pod: { containers: [{ name: 'app', image: 'i' }] } };
  const digest = (given: Given) => workloadOf(given).templateDigest;

  test('marks do not move it, also when they brought a list or map into being', () => {
    expect(digest({ pod: { containers: [{ name: 'app', image: 'i', env: [mark] }] } })).toBe(digest(bare));
    expect(digest({ pod: { containers: [{ name: 'app', image: 'i', env: [] }] } })).toBe(digest(bare));
    expect(digest({ ...bare, template: { [LAST_RELOADED_FROM]: 'x', [NUDGE]: 'y' } })).toBe(digest(bare));
    expect(digest({ ...bare, template: {} })).toBe(digest(bare));
  });

  test('marks move the full one', () => {
    const full = (given: Given) => workloadOf(given).fullTemplateDigest;
    expect(full({ pod: { containers: [{ name: 'app', image: 'i', env: [mark] }] } })).not.toBe(full(bare));
    expect(full({ ...bare, template: { [NUDGE]: 'y' } })).not.toBe(full(bare));
  });

  test('every edit of somebody else moves it', () => {
    const others: readonly Given[] = [
      { pod: { containers: [{ name: 'app', image: 'j' }] } },
      { pod: { containers: [{ name: 'app', image: 'i', env: [own] }] } },
      { pod: { containers: [{ name: 'app', image: 'i', env: [{ ...mark, value: 'mine' }] }] } },
      { ...bare, template: { 'kubectl.kubernetes.io/restartedAt': 'now' } },
    ];
    expect(new Set([bare, ...others].map(digest)).size).toBe(others.length + 1);
  });

  test('the order of members does not move it, nor does a null', () => {
    expect(digest({ pod: { volumes: null, containers: [{ image: 'i', name: 'app' }] } })).toBe(digest(bare));
  });
});

test('any object gives a workload', () => {
  const kinds = fc.constantFrom(...WORKLOAD_KINDS.map(({ kind }) => kind));
  const odd = fc.oneof(fc.anything(), fc.constant(null));
  const template = fc.record({
    metadata: odd,
    spec: fc.oneof(odd, fc.record({ containers: fc.array(odd), volumes: odd })),
  });
  const spec = fc.oneof(odd, fc.record({ template, jobTemplate: fc.record({ spec: fc.record({ template }) }) }));
  fc.assert(
    fc.property(kinds, fc.record({ metadata: odd, spec, status: odd }), (kind, object) => {
      const json = JSON.parse(JSON.stringify(object, (_key, value) => (typeof value === 'bigint' ? 0 : value)) ?? '{}');
      expect(parse(kind, json).ref.kind).toBe(kind);
    }),
    { numRuns: 500 },
  );
});
