import { describe, expect, test } from 'vitest';
import { queueAt, takeAll } from '../../test/support/queues.ts';
import { virtualClock } from '../../test/support/virtual-clock.ts';
import type { KeyedQueue } from './queue.ts';

/** Takes the key, has it fail, and gives it back; says until when it waits. */
async function fail(queue: KeyedQueue<string>, key: string, setback?: Parameters<typeof queue.retry>[1]) {
  queue.add(key);
  expect(await queue.take()).toBe(key);
  const until = queue.retry(key, setback);
  queue.done(key);
  return until;
}

describe('failures', () => {
  test('the wait doubles per key up to the cap, and starts anew after a success', async () => {
    const queue = queueAt(virtualClock());
    expect(Array.from({ length: 6 }, () => queue.retry('a'))).toEqual([100, 200, 400, 800, 1000, 1000]);
    expect(queue.retry('b')).toBe(100);
    queue.release('a');
    queue.add('a');
    await queue.take();
    queue.handled('a');
    queue.done('a');
    expect(queue.retry('a')).toBe(100);
  });

  test('a time that the server asked for is kept', () => {
    const queue = queueAt(virtualClock(), { random: () => 0 });
    expect(queue.retry('a', { atLeastMs: 7000 })).toBe(7000);
  });

  test('what was refused is not tried early, and waits up to some minutes', () => {
    const queue = queueAt(virtualClock(), { random: () => 0 });
    const waits = Array.from({ length: 20 }, () => queue.retry('a', { isRefusal: true }));
    expect(waits.slice(0, 3)).toEqual([50, 100, 200]);
    expect(waits.at(-1)).toBe(150_000);
  });

  test('whoever adds a key that failed, it is not handed out before its back-off is over', async () => {
    const clock = virtualClock();
    const queue = queueAt(clock);
    await fail(queue, 'a');
    queue.add('a');
    queue.schedule('a', 50);
    clock.advance(99);
    expect(await takeAll(queue)).toEqual([]);
    queue.add('a');
    expect(queue.dueAt('a')).toBe(100);
    clock.advance(1);
    expect(await queue.take()).toBe('a');
  });

  test('nor if it came due while it was in hand', async () => {
    const clock = virtualClock();
    const queue = queueAt(clock);
    queue.add('a');
    await queue.take();
    queue.add('a');
    queue.retry('a');
    queue.done('a');
    expect(await takeAll(queue)).toEqual([]);
    expect(queue.dueAt('a')).toBe(100);
  });

  test('a quiet period that ends later than the back-off is kept', async () => {
    const clock = virtualClock();
    const queue = queueAt(clock);
    queue.add('a');
    await queue.take();
    queue.schedule('a', 300);
    queue.retry('a');
    queue.done('a');
    expect(queue.dueAt('a')).toBe(300);
    queue.schedule('a', 400);
    expect(queue.dueAt('a')).toBe(400);
  });

  test('a release ends the back-off, and what fails next fails for the first time', async () => {
    const clock = virtualClock();
    const queue = queueAt(clock);
    for (let n = 0; n < 3; n += 1) queue.retry('a');
    expect([queue.release('a'), queue.release('a'), queue.release('b')]).toEqual([true, false, false]);
    expect(await fail(queue, 'a')).toBe(100);
    clock.advance(100);
    expect(queue.release('a')).toBe(false);
  });

  test('when the server is back, the victims of its absence are due within a moment; who failed by itself waits on', async () => {
    const clock = virtualClock();
    const queue = queueAt(clock, { random: () => 0.5 });
    await fail(queue, 'before', { isOutage: true, atLeastMs: 9000 });
    await fail(queue, 'refused', { atLeastMs: 9000 });
    clock.advance(1000);
    await fail(queue, 'victim', { isOutage: true, atLeastMs: 9000 });
    await fail(queue, 'quiet', { isOutage: true });
    queue.schedule('quiet', 5000);
    queue.forgive(1000);
    expect(['before', 'refused', 'victim', 'quiet'].map((key) => queue.dueAt(key))).toEqual([9000, 9000, 1050, 5000]);
    clock.advance(50);
    expect(await queue.take()).toBe('victim');
    expect(queue.retry('victim')).toBe(1100);
  });

  test('who is forgiven while in hand, and fails again, has not succeeded', async () => {
    const clock = virtualClock();
    const queue = queueAt(clock);
    const due = await fail(queue, 'a', { isOutage: true });
    clock.advance(due);
    await queue.take();
    queue.forgive(0);
    queue.retry('a');
    queue.handled('a');
    queue.done('a');
    queue.add('a');
    expect(queue.dueAt('a')).toBe(200);
  });
});
