import { KeyedQueue } from '../../src/runtime/queue.ts';
import type { VirtualClock } from './virtual-clock.ts';

export const queueAt = (clock: VirtualClock, options: { random?: () => number } = {}) =>
  new KeyedQueue<string>({ clock, backoff: { baseMs: 100, capMs: 1000 }, random: () => 1, ...options });

/** Everything that is due now, taken and given back. */
export async function takeAll(queue: KeyedQueue<string>): Promise<string[]> {
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
