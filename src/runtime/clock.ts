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
    // What is cut off a fraction of a millisecond would make it early, and whoever looks then has to wait once more.
    const timer = setTimeout(fn, Math.ceil(ms));
    return () => clearTimeout(timer);
  },
};
