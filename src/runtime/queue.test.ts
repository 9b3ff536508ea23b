import { describe, expect, test } from 'vitest';
import { queueAt, takeAll } from '../../test/support/queues.ts';
import { virtualClock } from '../../test/support/virtual-clock.ts';

describe('what is due', () => {
  test('a key waits at most once, and keys come in the order in which they were added', async () => {
    const queue = queueAt(virtualClock());
    for (const key of ['a', 'b', 'a', 'c', 'b']) queue.add(key);
    expect(queue.size).toBe(3);
    expect([await queue.take(), await queue.take(), await queue.take()]).toEqual(['a', 'b', 'c']);
  });

  test('a key is never in two hands', async () => {
    const queue = queueAt(virtualClock());
    queue.add('a');
    await queue.take();
    queue.add('a');
    queue.add('b');
    expect(await queue.take()).toBe('b');
    const second = queue.take();
    queue.done('a');
    expect(await second).toBe('a');
  });

  test('a key that comes back goes behind those that wait', async () => {
    const queue = queueAt(virtualClock());
    queue.add('a');
    await queue.take();
    queue.add('a');
    queue.add('b');
    queue.done('a');
    expect([await queue.take(), await queue.take()]).toEqual(['b', 'a']);
  });

  test('a key that was given back without news does not return', async () => {
    const queue = queueAt(virtualClock());
    queue.add('a');
    await queue.take();
    queue.done('a');
    expect(await takeAll(queue)).toEqual([]);
  });
});

describe('what is due later', () => {
  test('a key comes when it is due, not before', async () => {
    const clock = virtualClock();
    const queue = queueAt(clock);
    queue.schedule('a', 10);
    clock.advance(9);
    expect(await takeAll(queue)).toEqual([]);
    clock.advance(1);
    expect(await queue.take()).toBe('a');
  });

  test('schedule: the last due time wins, also over a key that is due already', async () => {
    const clock = virtualClock();
    const queue = queueAt(clock);
    queue.add('a');
    queue.schedule('a', 100);
    queue.schedule('a', 300);
    clock.advance(200);
    expect(queue.dueAt('a')).toBe(300);
    clock.advance(100);
    expect(await queue.take()).toBe('a');
  });

  test('schedule moves what came due while the key was in hand', async () => {
    const clock = virtualClock();
    const queue = queueAt(clock);
    queue.add('a');
    await queue.take();
    queue.add('a');
    queue.schedule('a', 50);
    queue.done('a');
    expect(queue.dueAt('a')).toBe(50);
    clock.advance(50);
    expect(await queue.take()).toBe('a');
  });

  test('add overrules a later due time, once', async () => {
    const clock = virtualClock();
    const queue = queueAt(clock);
    queue.schedule('a', 100);
    queue.add('a');
    expect(await queue.take()).toBe('a');
    queue.done('a');
    clock.advance(1000);
    expect(await takeAll(queue)).toEqual([]);
  });

  test('keys that come due together come in the order of their due times', async () => {
    const clock = virtualClock();
    const queue = queueAt(clock);
    queue.schedule('late', 30);
    queue.schedule('early', 10);
    queue.schedule('middle', 20);
    clock.advance(100);
    expect([await queue.take(), await queue.take(), await queue.take()]).toEqual(['early', 'middle', 'late']);
  });

  test('one timer serves a hundred thousand keys', () => {
    const clock = virtualClock();
    const queue = queueAt(clock);
    void queue.take();
    for (let i = 0; i < 100_000; i += 1) queue.schedule(`key-${i}`, 100_000 - i);
    expect(clock.timers).toBe(1);
  });

  test('a due time beyond the longest timer is kept', async () => {
    const clock = virtualClock();
    const queue = queueAt(clock);
    queue.schedule('a', 2 ** 32);
    clock.advance(2 ** 31);
    expect(queue.dueAt('a')).toBe(2 ** 32);
    clock.advance(2 ** 31);
    expect(await queue.take()).toBe('a');
  });

  test('remove: nothing is left of a key', async () => {
    const clock = virtualClock();
    const queue = queueAt(clock);
    queue.add('a');
    queue.schedule('b', 10);
    queue.remove('a');
    queue.remove('b');
    clock.advance(10);
    expect(queue.size).toBe(0);
    expect(await takeAll(queue)).toEqual([]);
  });
});

describe('workers come and go', () => {
  test('who waits is released by the signal, and takes nothing more', async () => {
    const clock = virtualClock();
    const queue = queueAt(clock);
    const term = new AbortController();
    const waiting = [queue.take(term.signal), queue.take(term.signal)];
    queue.schedule('later', 10);
    term.abort();
    expect(await Promise.all(waiting)).toEqual([undefined, undefined]);
    expect(clock.timers).toBe(0);
    queue.add('a');
    expect(await queue.take(term.signal)).toBeUndefined();
  });

  test('what came while nobody worked is there for the next ones, in the order in which it became due', async () => {
    const clock = virtualClock();
    const queue = queueAt(clock);
    queue.schedule('first', 10);
    clock.advance(20);
    queue.add('second');
    queue.schedule('third', 30);
    clock.advance(20);
    expect([await queue.take(), await queue.take(), await queue.take()]).toEqual(['first', 'second', 'third']);
  });

  test('a key that comes back goes behind those that became due meanwhile', async () => {
    const clock = virtualClock();
    const queue = queueAt(clock);
    queue.add('a');
    await queue.take();
    queue.schedule('b', 10);
    clock.advance(20);
    queue.add('a');
    queue.done('a');
    expect([await queue.take(), await queue.take()]).toEqual(['b', 'a']);
  });
});
