import { expect, test } from 'vitest';
import { parseQuantity } from './quantity.ts';

test.each([
  ['256Mi', 268_435_456],
  ['1.5Gi', 1_610_612_736],
  ['500M', 500_000_000],
  ['2e3', 2000],
  ['2E', 2e18],
  ['100', 100],
  ['1500m', 1.5],
  ['.5k', 500],
  ['-1', -1],
])('%s', (text, value) => {
  expect(parseQuantity(text)).toBe(value);
});

test.each(['', '256mb', '50%', 'Mi', '1 Gi', '1ki', '0x10', 'NaN'])('%j is none', (text) => {
  expect(parseQuantity(text)).toBeUndefined();
});
