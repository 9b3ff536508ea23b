import { expect, test } from 'vitest';
import { thousands } from './thousands.ts';

test.each([
  [0, '0'],
  [999, '999'],
  [1000, '1,000'],
  [262_144, '262,144'],
  [1_000_000, '1,000,000'],
])('%i is %s', (count, text) => {
  expect(thousands(count)).toBe(text);
});
