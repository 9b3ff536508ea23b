import fc from 'fast-check';
import { expect, test } from 'vitest';
import { namePattern } from './name-pattern.ts';

test('the same text is compiled once', () => {
  expect(namePattern('app-.*')).toBe(namePattern('app-.*'));
});

test('a plain name is literal; with a dot it is not, and matches more than itself', () => {
  expect(namePattern('my-config').literal).toBe('my-config');
  expect(namePattern('my.config').literal).toBeUndefined();
});

test('any text compiles or says why not; what is literal matches itself alone', () => {
  const texts = fc.oneof(fc.string(), fc.stringMatching(/^[-a-z0-9.*+?()[\]{}|\\^$,]{0,20}$/));
  fc.assert(
    fc.property(texts, fc.string(), (text, name) => {
      const pattern = namePattern(text);
      expect(pattern.matches === undefined).toBe(pattern.error !== undefined);
      if (pattern.literal === undefined) return;
      expect(pattern.matches?.(name)).toBe(name === text);
      expect(pattern.matches?.(text)).toBe(true);
    }),
    { numRuns: 500 },
  );
});

test('an expression that would hang a backtracking engine answers', () => {
  expect(namePattern('(a+)+b').matches?.('a'.repeat(250))).toBe(false);
});

test('more texts than the memory holds are no problem', () => {
  const first = namePattern('first');
  for (let i = 0; i < 5000; i += 1) namePattern(`name-${i}`);
  expect(namePattern('first').literal).toBe(first.literal);
});
