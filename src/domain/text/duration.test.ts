import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseDuration } from './duration.ts';

test.each([
  ['1h', 3_600_000],
  ['1h1m1s1ms', 3_661_001],
  ['.5s', 500],
  ['1.s', 1000],
  ['+3s', 3000],
  ['-3s', -3000],
  ['-0', -0 + 0],
  ['1s1s', 2000],
  ['2562047h', 2562047 * 3_600_000],
])('%s is a duration', (text, ms) => {
  expect(parseDuration(text)).toBe(ms);
});

test.each(['', ' ', '1', '1 s', 's', '.s', '1..s', '1e3s', '1S', '1d', '1w', '--1s', '1h-1m', '9999999999h', 'NaNs'])(
  '%j is none',
  (text) => {
    expect(parseDuration(text)).toBeUndefined();
  },
);

test('any text gives a finite number or nothing', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[-+]?[0-9.]{0,12}[nuµmsh]{0,3}$/)), (text) => {
      expect(Number.isFinite(parseDuration(text) ?? 0)).toBe(true);
    }),
  );
});

test('the sum of terms is the sum of their durations', () => {
  const term = fc.tuple(fc.nat(1000), fc.constantFrom('ms', 's', 'm', 'h'));
  fc.assert(
    fc.property(fc.array(term, { minLength: 1, maxLength: 5 }), (terms) => {
      const texts = terms.map(([amount, unit]) => `${amount}${unit}`);
      const sum = texts.reduce((total, text) => total + (parseDuration(text) ?? Number.NaN), 0);
      expect(parseDuration(texts.join(''))).toBe(sum);
    }),
  );
});
