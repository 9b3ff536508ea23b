import fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonicalJson, listIn, objectAt, objectIn, textIn } from './json.ts';

test('the order of members does not matter, that of a list does, null means absent', () => {
  expect(canonicalJson({ b: [1, 2], a: { d: 'x', c: null } })).toBe('{"a":{"d":"x"},"b":[1,2]}');
  expect(canonicalJson({ a: [2, 1] })).not.toBe(canonicalJson({ a: [1, 2] }));
});

test('canonical JSON says the same as the value it was made of', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(canonicalJson(JSON.parse(canonicalJson(value)))).toBe(canonicalJson(value));
    }),
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
