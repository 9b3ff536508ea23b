import fc from 'fast-check';
import { expect, test } from 'vitest';
import { queueAt, takeAll } from '../../test/support/queues.ts';
import { type VirtualClock, virtualClock } from '../../test/support/virtual-clock.ts';
import type { KeyedQueue } from './queue.ts';

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
      const world: World = { clock, queue: queueAt(clock), owed: new Set(), inHand: new Set() };
      for (const act of steps) await act(world);
      for (const key of world.inHand) world.queue.done(key);
      clock.advance(1000);
      expect(new Set(await takeAll(world.queue))).toEqual(world.owed);
    }),
  );
});
