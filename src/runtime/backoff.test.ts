import fc from 'fast-check';
import { expect, test } from 'vitest';
import { virtualClock } from '../../test/support/virtual-clock.ts';
import { fullJitter, pause, upperJitter } from './backoff.ts';

const LIMITS = { baseMs: 100, capMs: 5000 };

test.each([
  [1, 100],
  [2, 200],
  [3, 400],
  [6, 3200],
  [7, 5000],
  [10_000, 5000],
])('after failure %i the wait is at most %i ms', (failures, mostMs) => {
  expect(fullJitter(failures, LIMITS, () => 1)).toBe(mostMs);
  expect(fullJitter(failures, LIMITS, () => 0)).toBe(0);
  expect(upperJitter(failures, LIMITS, () => 1)).toBe(mostMs);
  expect(upperJitter(failures, LIMITS, () => 0)).toBe(mostMs / 2);
});

test('the wait is always within the limits', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1e9 }), fc.double({ min: 0, max: 0.999_999, noNaN: true }), (failures, r) => {
      const ms = fullJitter(failures, LIMITS, () => r);
      expect(ms).toBeGreaterThanOrEqual(0);
      expect(ms).toBeLessThanOrEqual(LIMITS.capMs);
    }),
  );
});

test('a pause ends with its time', async () => {
  const clock = virtualClock();
  let over = false;
  const waiting = pause(clock, 100, new AbortController().signal).then(() => {
    over = true;
  });
  await clock.run(99);
  expect(over).toBe(false);
  await clock.run(1);
  expect(over).toBe(true);
  await waiting;
});

test('a pause ends with its signal and leaves no timer behind', async () => {
  const clock = virtualClock();
  const stop = new AbortController();
  const waiting = pause(clock, 100, stop.signal);
  stop.abort();
  await waiting;
  expect(clock.timers).toBe(0);
  await pause(clock, 100, stop.signal);
});
