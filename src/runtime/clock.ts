/** Time as something that is handed in, so that tests can own it. */
export interface Clock {
  /**
   * Milliseconds since some moment, at an even pace whatever is done to the wall clock: for everything that is to happen
   * at a time, or took one.
   */
  now(): number;
  /** Milliseconds since the epoch. Somebody may set it, in either direction: only for what is shown. */
  wall(): number;
  /** Calls `fn` once after `ms`, however many; the returned function calls it off. */
  after(ms: number, fn: () => void): () => void;
}

// setTimeout calls at once what is to wait longer than this: a loop that never ends.
const MAX_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => performance.now(),
  wall: () => Date.now(),
  after(ms, fn) {
    const until = performance.now() + ms;
    let timer: NodeJS.Timeout;
    const arm = (leftMs: number): void => {
      // setTimeout cuts fractions of a millisecond off, and would be early.
      if (leftMs <= MAX_TIMER_MS) timer = setTimeout(fn, Math.ceil(leftMs));
      else timer = setTimeout(() => arm(until - performance.now()), MAX_TIMER_MS);
    };
    arm(ms);
    return () => clearTimeout(timer);
  },
};
