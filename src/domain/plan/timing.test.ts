import { expect, test } from 'vitest';
import { dueAt, timingOf } from './timing.ts';

const TIMING = { quietPeriodMs: 1000, maxWaitMs: 10_000 };

test.each([
  [0, 0, 1000],
  [0, 5000, 6000],
  [0, 9500, 10_000],
  [100, 100, 1100],
] as const)('first change at %i, last at %i: due at %i', (first, last, due) => {
  expect(dueAt(first, last, TIMING)).toBe(due);
});

test('a longest wait shorter than the quiet period decides alone', () => {
  const timing = { quietPeriodMs: 5000, maxWaitMs: 1000 };
  expect(dueAt(0, 0, timing)).toBe(1000);
  expect(dueAt(0, 900, timing)).toBe(1000);
  expect(dueAt(0, 0, { ...timing, maxWaitMs: 0 })).toBe(0);
});

test('a workload’s own words win, each for itself', () => {
  expect(timingOf({ overrides: { quietPeriodMs: 0 } }, TIMING)).toEqual({ quietPeriodMs: 0, maxWaitMs: 10_000 });
});
