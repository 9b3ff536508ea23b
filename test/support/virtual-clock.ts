import type { Clock } from '../../src/runtime/clock.ts';

/** A clock that a test owns: time passes only in `advance`. */
export interface VirtualClock extends Clock {
  /** Somebody sets the wall clock, by so much; no time passes. */
  jump(ms: number): void;
  /** Lets time pass; what comes due on the way is called in order, at its own time. */
  advance(ms: number): void;
  /** As `advance`, and lets promises settle before and after everything that comes due. */
  run(ms: number): Promise<void>;
  /** How many timers are set. */
  readonly timers: number;
}

/** Begins at `wall` by the wall clock. What passes is counted from zero, so that to take one for the other shows. */
export function virtualClock(wall = 0): VirtualClock {
  let now = 0;
  let aheadMs = wall;
  let timers: { readonly at: number; readonly fn: () => void }[] = [];

  const fireNext = (until: number): boolean => {
    const next = timers.reduce<(typeof timers)[number] | undefined>(
      (first, timer) => (first === undefined || timer.at < first.at ? timer : first),
      undefined,
    );
    if (!next || next.at > until) return false;
    timers = timers.filter((timer) => timer !== next);
    now = Math.max(now, next.at);
    next.fn();
    return true;
  };

  return {
    now: () => now,
    wall: () => now + aheadMs,
    jump(ms) {
      aheadMs += ms;
    },
    after(ms, fn) {
      const timer = { at: now + ms, fn };
      timers.push(timer);
      return () => {
        timers = timers.filter((other) => other !== timer);
      };
    },
    advance(ms) {
      const until = now + ms;
      while (fireNext(until));
      now = until;
    },
    async run(ms) {
      const until = now + ms;
      do await settled();
      while (fireNext(until));
      now = until;
      await settled();
    },
    get timers() {
      return timers.length;
    },
  };
}

/** After a turn of the event loop every promise that could settle has. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
