import type { Clock } from './clock.ts';
import type { KeyedQueue } from './queue.ts';
import { SlowLane } from './slow-lane.ts';

export interface WorkerOptions<K extends string> {
  /** How many keys are handled at once; those that take long are not counted. */
  readonly workers: number;
  readonly clock: Clock;
  readonly handle: (key: K) => Promise<void>;
  /** Decides what becomes of a key whose handling threw: `queue.retry`, or nothing. */
  readonly failed: (key: K, error: unknown) => void;
}

// No computation takes so long: what is not done by then waits for the server, and needs no worker for that.
const SLOW_MS = 250;
// An API server serves about 500 requests of one client at once before it refuses more.
const SLOW_PER_WORKER = 16;

/**
 * Hands keys to `handle` until the signal is aborted and every key in hand is done. A success makes the key's failures
 * forgotten, a failure costs no other key anything; `handle` may also ask for `queue.retry` itself. Keys that wait long
 * for the server do not hold a worker ({@link SlowLane}).
 */
export async function runWorkers<K extends string>(
  queue: KeyedQueue<K>,
  options: WorkerOptions<K>,
  signal: AbortSignal,
): Promise<void> {
  const { workers, clock, failed } = options;
  const handle = async (key: K) => {
    try {
      await options.handle(key);
      queue.handled(key);
    } catch (error) {
      failed(key, error);
    } finally {
      queue.done(key);
    }
  };
  const broken = Promise.withResolvers<never>();
  const slow = new SlowLane({ queue, signal, places: workers * SLOW_PER_WORKER, handle, broken: broken.reject });
  const work = async () => {
    for (let key = await queue.take(signal); key !== undefined; key = await queue.take(signal)) {
      if (signal.aborted) return queue.giveBack(key);
      if (slow.keeps(key)) continue;
      const handled = handle(key);
      if (!(await isQuick(clock, handled))) slow.enter(key, handled);
    }
  };
  const ended = Promise.all(Array.from({ length: workers }, work)).then(() => slow.emptied());
  await Promise.race([ended, broken.promise]);
}

function isQuick(clock: Clock, handled: Promise<void>): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const callOff = clock.after(SLOW_MS, () => resolve(false));
    handled.finally(callOff).then(() => resolve(true), reject);
  });
}
