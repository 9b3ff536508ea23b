import { pause } from '../runtime/backoff.ts';
import type { Clock } from '../runtime/clock.ts';

/**
 * Delivers one item, and says after how many milliseconds to try again; undefined: it is delivered, or given up.
 * Must not reject.
 */
export type Deliver<T> = (item: T, attempt: number, signal: AbortSignal) => Promise<number | undefined>;

/** Takes items at once and delivers them in order, one after the other, while the caller goes on. */
export interface Outbox<T> {
  /** False: it is full or closed, and the item was not taken. */
  add(item: T): boolean;
  /** Closes it, and waits until it is empty or the time is over; then what is in flight is given up. */
  drain(deadlineMs: number): Promise<void>;
}

export function createOutbox<T>(deliver: Deliver<T>, limit: number, clock: Clock): Outbox<T> {
  const waiting: T[] = [];
  const abort = new AbortController();
  const { signal } = abort;
  let running: Promise<void> | undefined;
  let closed = false;

  async function run(): Promise<void> {
    // It is removed only when it is done, so that it counts as waiting until then.
    for (; waiting.length > 0; waiting.shift()) {
      const item = waiting[0] as T;
      for (let attempt = 1; !signal.aborted; attempt++) {
        const againInMs = await deliver(item, attempt, signal);
        if (againInMs === undefined) break;
        await pause(clock, againInMs, signal);
      }
    }
    running = undefined;
  }

  return {
    add(item) {
      if (closed || waiting.length >= limit) return false;
      waiting.push(item);
      running ??= run();
      return true;
    },
    async drain(deadlineMs) {
      closed = true;
      if (!running) return;
      const callOff = clock.after(deadlineMs, () => abort.abort());
      await running;
      callOff();
    },
  };
}
