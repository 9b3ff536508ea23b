import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonicalText, listIn, objectAt, objectIn, textIn } from './json.ts';

test('the order of members does not matter, that of a list does, null means absent', () => {
  expect(canonicalText({ b: [1, 2], a: { d: 'x', c: null } })).toBe(canonicalText({ a: { d: 'x' }, b: [1, 2] }));
  expect(canonicalText({ a: [2, 1] })).not.toBe(canonicalText({ a: [1, 2] }));
});

test('values that differ have texts that differ', () => {
  const tricky = fc.constantFrom('', "'", "1'a", '1', ',', '}', 'a,', "{1'a");
  const value = fc.letrec((tie) => ({
    node: fc.oneof(
      tricky,
      fc.boolean(),
      fc.nat(2),
      fc.array(tie('node'), { maxLength: 3 }),
      fc.dictionary(tricky, tie('node'), { maxKeys: 3, noNullPrototype: true }),
    ),
  })).node;
  fc.assert(
    fc.property(value, value, (a, b) => {
      expect(canonicalText(a) === canonicalText(b)).toBe(isDeepStrictEqual(a, b));
    }),
    { numRuns: 2000 },
  );
});

test('whatever is odd reads as empty', () => {
  fc.assert(
    fc.property(fc.anything(), fc.array(fc.string()), (value, path) => {
      expect(typeof objectIn(value)).toBe('object');
      expect(Array.isArray(listIn(value))).toBe(true);
      expect(typeof textIn(value)).toBe('string');
      expect(typeof objectAt(value, path)).toBe('object');
    }),
  );
});

test('a value of any depth has a text', () => {
  const deep = JSON.parse(`${'{"a":['.repeat(20_000)}1${']}'.repeat(20_000)}`) as unknown;
  expect(canonicalText({ image: 'v1', deep })).not.toBe(canonicalText({ image: 'v2', deep }));
});
