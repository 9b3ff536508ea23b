import { expect, test } from 'vitest';
import { virtualClock } from '../../test/support/virtual-clock.ts';
import { KeyedQueue } from './queue.ts';
import { SlowLane } from './slow-lane.ts';

/** A room of eight places, and keys that come to it until it keeps them waiting. */
function world() {
  const clock = virtualClock();
  const queue = new KeyedQueue<string>({ clock });
  const stop = new AbortController();
  const inside = new Map<string, () => void>();
  const handle = (key: string): Promise<void> =>
    new Promise<void>((resolve) => inside.set(key, resolve)).then(() => queue.done(key));
  const broken = (error: unknown): void => {
    throw error;
  };
  const room = new SlowLane({ queue, signal: stop.signal, places: 8, handle, broken });
  const leave = async (key: string): Promise<void> => {
    inside.get(key)?.();
    inside.delete(key);
    await clock.run(0);
  };
  /** Keys of a namespace, one after the other; says how many got in before the first that did not. */
  const fill = async (namespace: string): Promise<number> => {
    for (let count = 0; ; count += 1) {
      const key = `Job/${namespace}/${count}`;
      queue.add(key);
      await queue.take();
      if (room.keeps(key)) return count;
      room.enter(key, handle(key));
    }
  };
  return { clock, queue, room, inside, leave, fill, stop };
}

test('a namespace gets half of what is free, so that others find a place as well', async () => {
  const { fill } = world();
  const got: number[] = [];
  for (const namespace of ['a', 'b', 'c', 'd', 'e', 'f']) got.push(await fill(namespace));
  expect(got).toEqual([3, 2, 1, 1, 1, 0]);
});

test('who has nothing is let in before who has most, and nobody is forgotten', async () => {
  const { fill, inside, leave, room } = world();
  for (const namespace of ['a', 'b', 'c', 'd', 'e', 'f']) await fill(namespace);
  await leave('Job/a/0');
  expect([...inside.keys()].filter((key) => key.includes('/f/'))).toEqual(['Job/f/0']);
  const served = new Set<string>();
  while (inside.size > 0) {
    for (const key of [...inside.keys()]) {
      served.add(key);
      await leave(key);
    }
  }
  expect(served.size).toBe(7 + 6);
  await room.emptied();
});

test('what is to wait for its quiet period comes afterwards, with all that happened until then', async () => {
  const { clock, queue, fill, inside, leave } = world();
  const waits = `Job/a/${await fill('a')}`;
  queue.schedule(waits, 1000);
  for (const key of [...inside.keys()]) await leave(key);
  expect(inside.size).toBe(0);
  clock.advance(1000);
  expect(await queue.take()).toBe(waits);
});

test('at the end of the work, who found no room goes back to the queue', async () => {
  const { queue, fill, inside, leave, room, stop } = world();
  const waits = `Job/a/${await fill('a')}`;
  stop.abort();
  for (const key of [...inside.keys()]) await leave(key);
  await room.emptied();
  expect(inside.size).toBe(0);
  expect(await queue.take()).toBe(waits);
});
