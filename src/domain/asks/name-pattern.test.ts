import fc from 'fast-check';
import { expect, test } from 'vitest';
import { namePattern, patternsIn } from './name-pattern.ts';

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

test.each([
  ['one', '[[:word:]]{1000}'.repeat(1000)],
  ['a long one, many times', `(${'name'.repeat(20)}){1000}`],
  ['many', Array.from({ length: 40_000 }, (_, n) => `a${n}.`).join(',')],
  ['repetitions', Array.from({ length: 1000 }, (_, n) => `x${n}a{1000}`).join(',')],
])('expressions that would take the memory of others are not compiled: %s', (_what, list) => {
  const patterns = patternsIn(`plain,app-.*,${list},last`);
  expect(patterns.slice(0, 2).map(({ matches }) => matches?.('app-1'))).toEqual([false, true]);
  expect(patterns.at(-1)?.matches?.('last')).toBe(true);
  expect(patterns.at(-2)).toMatchObject({ matches: undefined, error: 'too large' });
});

test('what people write is never too large', () => {
  const usual = ['app-.*', '[a-z0-9-]{63}', 'app-(one|two|three)-[a-z]{10}', '.*'];
  const list = Array.from({ length: 50 }, (_, n) => usual.map((each) => `team-${n}-${each}`)).flat();
  expect(patternsIn(list.join(',')).filter(({ error }) => error)).toEqual([]);
});
