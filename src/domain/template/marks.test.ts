import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { HASH_A, HASH_B, workloadOf } from '../../../test/conformance/given.ts';
import { LAST_RELOADED_FROM } from '../../api/annotations.ts';
import { SOURCE_KINDS, type SourceRef } from '../../api/sources.ts';
import { carriesMark, isMarkVariable, lastReloadedFrom, parseLastReloadedFrom, variableName } from './marks.ts';

const ref: SourceRef = { kind: 'ConfigMap', namespace: 'shop', name: 'a-b' };
const variable = { name: 'STAKATER_A_B_CONFIGMAP', value: HASH_A };

describe('what a template says about a source', () => {
  const using = (...containers: readonly unknown[]) => workloadOf({ pod: { containers } });

  test('env-vars', () => {
    expect(carriesMark(using({ name: 'app', env: [variable] }), ref, HASH_A, 'env-vars')).toBe('equal');
    expect(carriesMark(using({ name: 'app', env: [variable] }), ref, HASH_B, 'env-vars')).toBe('different');
    expect(carriesMark(using({ name: 'app' }), ref, HASH_A, 'env-vars')).toBe('missing');
    expect(carriesMark(using({ name: 'app' }, { name: 'b', env: [variable] }), ref, HASH_A, 'env-vars')).toBe('equal');
  });

  test('the container that uses the source comes before the others', () => {
    const user = { name: 'b', envFrom: [{ configMapRef: { name: 'a-b' } }], env: [{ ...variable, value: HASH_B }] };
    expect(carriesMark(using({ name: 'app', env: [variable] }, user), ref, HASH_B, 'env-vars')).toBe('equal');
  });

  test('a variable that two sources share proves nothing', () => {
    const both = {
      name: 'app',
      env: [variable],
      envFrom: [{ configMapRef: { name: 'a-b' } }, { configMapRef: { name: 'a.b' } }],
    };
    expect(carriesMark(using(both), ref, HASH_A, 'env-vars')).toBe('shared-name');
    const metadata = { 'configmap.reloader.stakater.com/reload': 'a.b' };
    const namedOnly = workloadOf({ metadata, pod: { containers: [{ name: 'app', env: [variable] }] } });
    expect(carriesMark(namedOnly, ref, HASH_A, 'env-vars')).toBe('shared-name');
    const otherKind = { ...both, envFrom: [{ configMapRef: { name: 'a-b' } }, { secretRef: { name: 'a.b' } }] };
    expect(carriesMark(using(otherKind), ref, HASH_A, 'env-vars')).toBe('equal');
  });

  test('annotations: only the last cause is known', () => {
    const template = { [LAST_RELOADED_FROM]: lastReloadedFrom(ref, HASH_A, 'app', 1) };
    expect(carriesMark(workloadOf({ template }), ref, HASH_A, 'annotations')).toBe('equal');
    expect(carriesMark(workloadOf({ template }), ref, HASH_B, 'annotations')).toBe('different');
    expect(carriesMark(workloadOf({ template }), { ...ref, name: 'c' }, HASH_A, 'annotations')).toBe('missing');
    expect(carriesMark(workloadOf({ template: { [LAST_RELOADED_FROM]: 'x' } }), ref, HASH_A, 'annotations')).toBe(
      'missing',
    );
  });
});

test('the annotation is escaped as Go does', () => {
  expect(lastReloadedFrom({ ...ref, name: '<&>\u2028' }, 'h', 'c', 1.9)).toBe(
    String.raw`{"type":"CONFIGMAP","name":"\u003c\u0026\u003e\u2028","namespace":"shop","hash":"h","containerRefs":["c"],"observedAt":1}`,
  );
});

test('what is written can be read, and any other text is none', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), fc.nat(), (name, container, at) => {
      const text = lastReloadedFrom({ ...ref, name }, HASH_A, container, at);
      expect(parseLastReloadedFrom(text)).toEqual({
        type: 'CONFIGMAP',
        name,
        namespace: 'shop',
        hash: HASH_A,
        containerRefs: [container],
        observedAt: at,
      });
    }),
  );
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
      expect(parseLastReloadedFrom(text)?.type ?? '').toBeTypeOf('string');
    }),
  );
});

test("a reloader's variable is known by its name and by a SHA-1 as value", () => {
  expect(isMarkVariable(variable)).toBe(true);
  expect(isMarkVariable({ ...variable, value: 'secret' })).toBe(false);
  expect(isMarkVariable({ ...variable, name: 'STAKATER_A_B' })).toBe(false);
  expect(isMarkVariable({ ...variable, valueFrom: {} })).toBe(false);
  fc.assert(fc.property(fc.anything(), (value) => typeof isMarkVariable(value) === 'boolean'));
});

test('any name gives a variable that is known again', () => {
  fc.assert(
    fc.property(fc.constantFrom(...SOURCE_KINDS), fc.string(), (kind, name) => {
      const made = variableName(kind, name);
      expect(made).toMatch(/^[A-Z0-9_]+$/);
      expect(isMarkVariable({ name: made, value: HASH_A })).toBe(true);
    }),
  );
});
