import { expect, test } from 'vitest';
import { virtualClock } from '../../test/support/virtual-clock.ts';
import { Loop } from './loop.ts';

function looping(pass: () => Promise<{ againAfterMs?: number }>, resyncMs: number | undefined = 30_000) {
  const clock = virtualClock();
  const failures: number[] = [];
  const loop = new Loop({ pass, clock, resyncMs, gapMs: 100, failed: (_, retryInMs) => void failures.push(retryInMs) });
  const stop = new AbortController();
  const ended = loop.run(stop.signal);
  const end = (): Promise<void> => {
    stop.abort();
    return ended;
  };
  return { clock, loop, failures, end };
}

test('A13 a pass at the start, one for all wakes together, and one when nothing happened for long', async () => {
  let passes = 0;
  const { clock, loop, end } = looping(async () => {
    passes += 1;
    return {};
  });
  await clock.run(50);
  expect(passes).toBe(1);
  for (let n = 0; n < 1000; n += 1) loop.wake();
  await clock.run(200);
  expect(passes).toBe(2);
  await clock.run(30_000);
  expect(passes).toBe(3);
  await end();
  await clock.run(60_000);
  expect([passes, clock.timers]).toEqual([3, 0]);
});

test('G3 without a timer nothing comes by itself', async () => {
  let passes = 0;
  const clock = virtualClock();
  const stop = new AbortController();
  const loop = new Loop({
    pass: async () => {
      passes += 1;
      return {};
    },
    clock,
    resyncMs: undefined,
    gapMs: 0,
    failed() {},
  });
  const ended = loop.run(stop.signal);
  await clock.run(3_600_000);
  expect(passes).toBe(1);
  stop.abort();
  await ended;
});

test('a wake during a pass leads to another one, and passes never overlap', async () => {
  let [running, most, passes] = [0, 0, 0];
  const world = looping(async () => {
    running += 1;
    most = Math.max(most, running);
    passes += 1;
    await new Promise<void>((resolve) => setImmediate(resolve));
    if (passes === 1) world.loop.wake();
    running -= 1;
    return {};
  });
  await world.clock.run(2000);
  expect([passes, most]).toEqual([2, 1]);
  await world.end();
});

test('what a pass asks for comes before the timer', async () => {
  let passes = 0;
  const { clock, end } = looping(async () => {
    passes += 1;
    return passes === 1 ? { againAfterMs: 1000 } : {};
  });
  await clock.run(1100);
  expect(passes).toBe(2);
  await end();
});

test('a failure is tried again, later each time, and a wake does not wait for that', async () => {
  let passes = 0;
  const { clock, loop, failures, end } = looping(async () => {
    passes += 1;
    throw new Error('no');
  });
  await clock.run(60_000);
  expect(passes).toBeGreaterThan(5);
  expect(failures.every((ms) => ms <= 30_000)).toBe(true);
  const before = passes;
  loop.wake();
  await clock.run(100);
  expect(passes).toBeGreaterThan(before);
  await end();
});
