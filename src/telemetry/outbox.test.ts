import { expect, test } from 'vitest';
import { virtualClock } from '../../test/support/virtual-clock.ts';
import { createOutbox } from './outbox.ts';

const HOUR_MS = 3_600_000;

test('items are delivered one after the other, in order', async () => {
  const clock = virtualClock();
  const log: string[] = [];
  const outbox = createOutbox<string>(
    async (item) => {
      log.push(`begin ${item}`);
      await new Promise<void>((resolve) => void clock.after(10, resolve));
      log.push(`end ${item}`);
      return undefined;
    },
    10,
    clock,
  );
  for (const item of ['a', 'b', 'c']) expect(outbox.add(item)).toBe(true);
  await clock.run(100);
  expect(log).toEqual(['begin a', 'end a', 'begin b', 'end b', 'begin c', 'end c']);
  outbox.add('d');
  await clock.run(100);
  expect(log.slice(-2)).toEqual(['begin d', 'end d']);
});

test('an item is tried again as its delivery says, and those behind it wait', async () => {
  const clock = virtualClock();
  const tries: [string, number, number][] = [];
  const outbox = createOutbox<string>(
    async (item, attempt) => {
      tries.push([item, attempt, clock.now()]);
      return item === 'a' && attempt < 3 ? attempt * 100 : undefined;
    },
    10,
    clock,
  );
  outbox.add('a');
  outbox.add('b');
  await clock.run(1000);
  expect(tries).toEqual([
    ['a', 1, 0],
    ['a', 2, 100],
    ['a', 3, 300],
    ['b', 1, 300],
  ]);
});

test('a full or closed one takes nothing', async () => {
  const clock = virtualClock();
  const outbox = createOutbox<number>(async () => HOUR_MS, 2, clock);
  expect([outbox.add(1), outbox.add(2), outbox.add(3)]).toEqual([true, true, false]);
  const drained = outbox.drain(5);
  await clock.run(5);
  await drained;
  expect(outbox.add(4)).toBe(false);
  expect(clock.timers).toBe(0);
});

test('draining waits for what can still be delivered', async () => {
  const clock = virtualClock();
  const delivered: number[] = [];
  const outbox = createOutbox<number>(
    async (item, attempt) => {
      if (attempt === 1) return 100;
      delivered.push(item);
      return undefined;
    },
    10,
    clock,
  );
  outbox.add(1);
  outbox.add(2);
  const drained = outbox.drain(1000);
  await clock.run(500);
  await drained;
  expect(delivered).toEqual([1, 2]);
  expect(clock.timers).toBe(0);
});

test('after the deadline what is in flight is aborted and the rest is given up', async () => {
  const clock = virtualClock();
  const seen: number[] = [];
  const outbox = createOutbox<number>(
    (item, _, signal) => {
      seen.push(item);
      return new Promise((resolve) => signal.addEventListener('abort', () => resolve(HOUR_MS)));
    },
    10,
    clock,
  );
  outbox.add(1);
  outbox.add(2);
  const drained = outbox.drain(1000);
  await clock.run(1000);
  await drained;
  expect(seen).toEqual([1]);
  expect(clock.timers).toBe(0);
});

test('draining an empty one takes no time', async () => {
  await createOutbox(async () => undefined, 1, virtualClock()).drain(HOUR_MS);
});
