/** Time as something that is handed in, so that tests can own it. */
export interface Clock {
  /**
   * Milliseconds since some moment, at an even pace whatever is done to the wall clock: for everything that is to happen
   * at a time, or took one.
   */
  now(): number;
  /** Milliseconds since the epoch. Somebody may set it, in either direction: only for what is shown. */
  wall(): number;
  /** Calls `fn` once after `ms`; the returned function calls it off. */
  after(ms: number, fn: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  wall: () => Date.now(),
  after(ms, fn) {
    // setTimeout cuts fractions of a millisecond off, and would be early.
    const timer = setTimeout(fn, Math.ceil(ms));
    return () => clearTimeout(timer);
  },
};
