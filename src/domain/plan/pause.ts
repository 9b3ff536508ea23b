import { parseTime } from '../text/rfc3339.ts';

/**
 * What a pause period means for a Deployment now.
 *
 * `none`: nothing is asked for, or somebody else has paused it, which is not ours to touch.
 * `pause`: a reload goes out paused, with the mark, and is resumed at `until`.
 * `hold`: our pause is running; more changes gather and the end is not moved.
 * `resume`: our pause is over.
 */
export type PauseStep =
  | { readonly do: 'none' }
  | { readonly do: 'pause'; readonly untilMs: number }
  | { readonly do: 'hold'; readonly untilMs: number }
  | { readonly do: 'resume' };

export interface PauseFacts {
  /** `spec.paused`. */
  readonly paused: boolean;
  /** Text of the paused-at annotation: only a reloader writes it, so it tells our pause from a user's. */
  readonly pausedAt: string | undefined;
  readonly periodMs: number | undefined;
}

export function pauseStep({ paused, pausedAt, periodMs }: PauseFacts, nowMs: number): PauseStep {
  if (!paused) return startOf(periodMs, nowMs);
  if (pausedAt === undefined) return { do: 'none' };
  // A pause whose length or beginning nobody knows any more must not last for ever.
  const began = parseTime(pausedAt);
  if (began === undefined || periodMs === undefined) return { do: 'resume' };
  const untilMs = began * 1000 + periodMs;
  return untilMs <= nowMs ? { do: 'resume' } : { do: 'hold', untilMs };
}

/** A period of nothing would pause and resume in one breath. */
function startOf(periodMs: number | undefined, nowMs: number): PauseStep {
  if (periodMs === undefined || periodMs <= 0) return { do: 'none' };
  return { do: 'pause', untilMs: nowMs + periodMs };
}
