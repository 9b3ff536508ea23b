import { afterEach, expect, test, vi } from 'vitest';
import { virtualClock } from '../../test/support/virtual-clock.ts';
import { systemClock } from './clock.ts';
import { KeyedQueue } from './queue.ts';

const HOUR_MS = 3_600_000;
const JUMPS = [-HOUR_MS, 30 * HOUR_MS];

afterEach(() => {
  vi.useRealTimers();
});

test.each(JUMPS)('a wall clock that is set by %i ms is shown, and no time has passed', (ms) => {
  const [now, wall] = [systemClock.now(), systemClock.wall()];
  vi.useFakeTimers({ toFake: ['Date'], now: wall + ms });
  expect(systemClock.wall()).toBe(wall + ms);
  expect(Math.abs(systemClock.now() - now)).toBeLessThan(HOUR_MS);
});

test.each(JUMPS)('a wall clock that is set by %i ms makes nothing due earlier or later', async (ms) => {
  const clock = virtualClock(Date.UTC(2026, 0, 1));
  const queue = new KeyedQueue<string>({ clock, backoff: { baseMs: 100, capMs: 1000 }, random: () => 1 });
  queue.schedule('changed', clock.now() + 100);
  queue.retry('failed');
  queue.schedule('held', clock.now() + 100);
  clock.jump(ms);
  clock.advance(99);
  const taken = [queue.take(), queue.take(), queue.take()];
  expect(await Promise.race([...taken, Promise.resolve('none')])).toBe('none');
  clock.advance(1);
  expect(await Promise.all(taken)).toEqual(['changed', 'failed', 'held']);
});

const DAY_MS = 24 * HOUR_MS;

test.each([24, 25, 60, 24_855])('what is to happen in %i days happens then, not at once', (days) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  let calls = 0;
  systemClock.after(days * DAY_MS, () => {
    calls += 1;
  });
  vi.advanceTimersByTime(days * DAY_MS - 1);
  expect(calls).toBe(0);
  vi.advanceTimersByTime(2);
  expect([calls, vi.getTimerCount()]).toEqual([1, 0]);
});

test('what is called off is not called, however long it was to wait and however long it has waited', () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  const calledOff = [60 * DAY_MS, Number.POSITIVE_INFINITY].map((ms) =>
    systemClock.after(ms, () => expect.unreachable()),
  );
  vi.advanceTimersByTime(30 * DAY_MS);
  for (const callOff of calledOff) callOff();
  expect(vi.getTimerCount()).toBe(0);
});
