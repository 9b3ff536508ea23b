import type { Intent } from '../asks/ask.ts';

/** When the changes that wait for one workload are to be carried out. */
export interface Timing {
  /** So long nothing further may change before we write. */
  readonly quietPeriodMs: number;
  /** So long after the first change we write in any case. */
  readonly maxWaitMs: number;
}

/** The longest wait is a limit, also where it is shorter than the quiet period. */
export function dueAt(firstChangeAt: number, lastChangeAt: number, timing: Timing): number {
  return Math.min(lastChangeAt + timing.quietPeriodMs, firstChangeAt + timing.maxWaitMs);
}

/** A workload's own annotations win over the flags, each for itself. */
export function timingOf({ overrides }: Pick<Intent, 'overrides'>, flags: Timing): Timing {
  return {
    quietPeriodMs: overrides.quietPeriodMs ?? flags.quietPeriodMs,
    maxWaitMs: overrides.maxWaitMs ?? flags.maxWaitMs,
  };
}
