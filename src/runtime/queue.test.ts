import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type VirtualClock, virtualClock } from '../../test/support/virtual-clock.ts';
import { KeyedQueue } from './queue.ts';

const at = (clock: VirtualClock, options: { random?: () => number } = {}) =>
  new KeyedQueue<string>({ clock, backoff: { baseMs: 100, capMs: 1000 }, random: () => 1, ...options });

/** Everything that is due now, taken and given back. */
async function takeAll(queue: KeyedQueue<string>): Promise<string[]> {
  const keys: string[] = [];
  const clock = { next: queue.take() };
  for (;;) {
    const key = await Promise.race([clock.next, new Promise<undefined>((resolve) => setImmediate(resolve, undefined))]);
    if (key === undefined) break;
    keys.push(key);
    queue.done(key);
    clock.next = queue.take();
  }
  // The taker that is left over gets the next key; it gives it back as if it had never asked.
  void clock.next.then((key) => {
    if (key === undefined) return;
    queue.done(key);
    queue.add(key);
  });
  return keys;
}

describe('what is due', () => {
  test('a key waits at most once, and keys come in the order in which they were added', async () => {
    const queue = at(virtualClock());
    for (const key of ['a', 'b', 'a', 'c', 'b']) queue.add(key);
    expect(queue.size).toBe(3);
    expect([await queue.take(), await queue.take(), await queue.take()]).toEqual(['a', 'b', 'c']);
  });

  test('a key is never in two hands', async () => {
    const queue = at(virtualClock());
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
    const queue = at(virtualClock());
    queue.add('a');
    await queue.take();
    queue.add('a');
    queue.add('b');
    queue.done('a');
    expect([await queue.take(), await queue.take()]).toEqual(['b', 'a']);
  });

  test('a key that was given back without news does not return', async () => {
    const queue = at(virtualClock());
    queue.add('a');
    await queue.take();
    queue.done('a');
    expect(await takeAll(queue)).toEqual([]);
  });
});

describe('what is due later', () => {
  test('a key comes when it is due, not before', async () => {
    const clock = virtualClock();
    const queue = at(clock);
    queue.addAfter('a', 10);
    clock.advance(9);
    expect(await takeAll(queue)).toEqual([]);
    clock.advance(1);
    expect(await queue.take()).toBe('a');
  });

  test('addAt: the earlier due time wins', async () => {
    const clock = virtualClock();
    const queue = at(clock);
    queue.addAt('a', 1000);
    queue.addAt('a', 10);
    queue.addAt('a', 5000);
    expect(queue.dueAt('a')).toBe(10);
    clock.advance(10);
    expect(await queue.take()).toBe('a');
    queue.done('a');
    clock.advance(10_000);
    expect(await takeAll(queue)).toEqual([]);
  });

  test('schedule: the last due time wins, also over a key that is due already', async () => {
    const clock = virtualClock();
    const queue = at(clock);
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
    const queue = at(clock);
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
    const queue = at(clock);
    queue.schedule('a', 100);
    queue.add('a');
    expect(await queue.take()).toBe('a');
    queue.done('a');
    clock.advance(1000);
    expect(await takeAll(queue)).toEqual([]);
  });

  test('keys that come due together come in the order of their due times', async () => {
    const clock = virtualClock();
    const queue = at(clock);
    queue.schedule('late', 30);
    queue.schedule('early', 10);
    queue.schedule('middle', 20);
    clock.advance(100);
    expect([await queue.take(), await queue.take(), await queue.take()]).toEqual(['early', 'middle', 'late']);
  });

  test('one timer serves a hundred thousand keys', () => {
    const clock = virtualClock();
    const queue = at(clock);
    for (let i = 0; i < 100_000; i += 1) queue.schedule(`key-${i}`, 100_000 - i);
    expect(clock.timers).toBe(1);
  });

  test('a due time beyond the longest timer is kept', async () => {
    const clock = virtualClock();
    const queue = at(clock);
    queue.schedule('a', 2 ** 32);
    clock.advance(2 ** 31);
    expect(queue.dueAt('a')).toBe(2 ** 32);
    clock.advance(2 ** 31);
    expect(await queue.take()).toBe('a');
  });

  test('remove: nothing is left of a key', async () => {
    const clock = virtualClock();
    const queue = at(clock);
    queue.add('a');
    queue.schedule('b', 10);
    queue.remove('a');
    queue.remove('b');
    clock.advance(10);
    expect(queue.size).toBe(0);
    expect(await takeAll(queue)).toEqual([]);
  });
});

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
    const queue = at(virtualClock());
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
    const queue = at(virtualClock(), { random: () => 0 });
    expect(queue.retry('a', { atLeastMs: 7000 })).toBe(7000);
  });

  test('what was refused is not tried early, and waits up to some minutes', () => {
    const queue = at(virtualClock(), { random: () => 0 });
    const waits = Array.from({ length: 20 }, () => queue.retry('a', { isRefusal: true }));
    expect(waits.slice(0, 3)).toEqual([50, 100, 200]);
    expect(waits.at(-1)).toBe(150_000);
  });

  test('whoever adds a key that failed, it is not handed out before its back-off is over', async () => {
    const clock = virtualClock();
    const queue = at(clock);
    await fail(queue, 'a');
    queue.add('a');
    queue.addAt('a', 1);
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
    const queue = at(clock);
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
    const queue = at(clock);
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
    const queue = at(clock);
    for (let n = 0; n < 3; n += 1) queue.retry('a');
    expect([queue.release('a'), queue.release('a'), queue.release('b')]).toEqual([true, false, false]);
    expect(await fail(queue, 'a')).toBe(100);
    clock.advance(100);
    expect(queue.release('a')).toBe(false);
  });

  test('when the server is back, the victims of its absence are due within a moment; who failed by itself waits on', async () => {
    const clock = virtualClock();
    const queue = at(clock, { random: () => 0.5 });
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
    const queue = at(clock);
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

describe('the end', () => {
  test('drain hands out what is due, drops what is not, accepts nothing', async () => {
    const clock = virtualClock();
    const queue = at(clock);
    queue.add('due');
    queue.schedule('later', 10);
    queue.drain();
    queue.add('new');
    expect(await queue.take()).toBe('due');
    queue.done('due');
    clock.advance(10);
    expect(await queue.take()).toBeUndefined();
    expect(clock.timers).toBe(0);
  });

  test('close hands out nothing more and releases everyone who waits', async () => {
    const queue = at(virtualClock());
    const waiting = [queue.take(), queue.take()];
    queue.close();
    queue.add('a');
    queue.schedule('b', 0);
    expect(await Promise.all(waiting)).toEqual([undefined, undefined]);
    expect(await queue.take()).toBeUndefined();
  });
});

/** A queue in use: what it owes us, and what we hold. */
interface World {
  readonly clock: VirtualClock;
  readonly queue: KeyedQueue<string>;
  readonly owed: Set<string>;
  readonly inHand: Set<string>;
}
type Step = (world: World) => void | Promise<void>;

async function takeOne({ clock, queue, owed, inHand }: World): Promise<void> {
  const isDue = (k: string) => !inHand.has(k) && (queue.dueAt(k) ?? Number.POSITIVE_INFINITY) <= clock.now();
  clock.advance(0);
  if (![...owed].some(isDue)) return;
  const key = (await queue.take()) ?? 'nothing';
  expect(owed).toContain(key);
  expect(inHand).not.toContain(key);
  inHand.add(key);
  owed.delete(key);
}

const anyKey = fc.constantFrom('a', 'b', 'c');
const anyMs = fc.integer({ min: 0, max: 50 });
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  anyKey.map(
    (key): Step =>
      ({ queue, owed }) => {
        queue.add(key);
        owed.add(key);
      },
  ),
  fc.tuple(anyKey, anyMs).map(
    ([key, ms]): Step =>
      ({ queue, owed }) => {
        queue.addAfter(key, ms);
        owed.add(key);
      },
  ),
  fc.tuple(anyKey, anyMs).map(
    ([key, ms]): Step =>
      ({ queue, clock, owed }) => {
        queue.schedule(key, clock.now() + ms);
        owed.add(key);
      },
  ),
  anyKey.map(
    (key): Step =>
      ({ queue, inHand }) => {
        if (inHand.delete(key)) queue.done(key);
      },
  ),
  anyKey.map(
    (key): Step =>
      ({ queue, inHand, owed }) => {
        if (!inHand.delete(key)) return;
        queue.retry(key, { isOutage: true });
        queue.done(key);
        owed.add(key);
      },
  ),
  anyKey.map(
    (key): Step =>
      ({ queue }) =>
        void queue.release(key),
  ),
  fc.constant<Step>(({ queue }) => queue.forgive(0)),
  anyMs.map(
    (ms): Step =>
      ({ clock }) =>
        clock.advance(ms),
  ),
  fc.constant<Step>(takeOne),
);

test('however it is used, a key is in one hand at most and none that is owed is forgotten', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyStep, { maxLength: 50 }), async (steps) => {
      const clock = virtualClock();
      const world: World = { clock, queue: at(clock), owed: new Set(), inHand: new Set() };
      for (const act of steps) await act(world);
      for (const key of world.inHand) world.queue.done(key);
      clock.advance(1000);
      expect(new Set(await takeAll(world.queue))).toEqual(world.owed);
    }),
  );
});
