import type { Clock } from './clock.ts';

export interface BackoffLimits {
  /** The most that the first wait may be. */
  readonly baseMs: number;
  /** The most that any wait may be. */
  readonly capMs: number;
}

/**
 * How long to wait after failure number `failures` (from 1): anything up to an exponentially growing bound, so that
 * many who failed together do not return together.
 */
export function fullJitter(failures: number, limits: BackoffLimits, random: () => number): number {
  // 2 ** 1024 is Infinity, and min() copes with that.
  return random() * Math.min(limits.capMs, limits.baseMs * 2 ** (failures - 1));
}

/** The same, but never less than half of that bound, so that a number of tries takes a known time at least. */
export function upperJitter(failures: number, limits: BackoffLimits, random: () => number): number {
  return fullJitter(failures, limits, () => (1 + random()) / 2);
}

/** Resolves after `ms`, or as soon as the signal is aborted: callers look at the signal anyway. */
export function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted || ms <= 0) return Promise.resolve();
  return new Promise((resolve) => {
    const finish = () => {
      signal.removeEventListener('abort', finish);
      cancel();
      resolve();
    };
    const cancel = clock.after(ms, finish);
    signal.addEventListener('abort', finish, { once: true });
  });
}
