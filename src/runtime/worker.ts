import type { KeyedQueue } from './queue.ts';

export interface WorkerOptions<K extends string> {
  /** How many keys may be in hand at once. */
  readonly workers: number;
  readonly handle: (key: K) => Promise<void>;
  /** Decides what becomes of a key whose handling threw: `queue.retry`, or nothing. */
  readonly failed: (key: K, error: unknown) => void;
}

/**
 * Hands keys to `handle` until the queue is closed and every hand is empty. A success makes the key's failures
 * forgotten, a failure costs no other key anything; `handle` may also ask for `queue.retry` itself.
 */
export async function runWorkers<K extends string>(queue: KeyedQueue<K>, options: WorkerOptions<K>): Promise<void> {
  await Promise.all(Array.from({ length: options.workers }, () => work(queue, options)));
}

async function work<K extends string>(queue: KeyedQueue<K>, { handle, failed }: WorkerOptions<K>): Promise<void> {
  for (let key = await queue.take(); key !== undefined; key = await queue.take()) {
    try {
      await handle(key);
      queue.handled(key);
    } catch (error) {
      failed(key, error);
    } finally {
      queue.done(key);
    }
  }
}
