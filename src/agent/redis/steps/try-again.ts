/** What Redis refuses may be good: it may have been short of open files or disk space. So long it is not tried again. */
export const AGAIN_MS = 300_000;

/**
 * How long a refusal of that time, by the wall clock, still counts: for ever where the content itself was wrong, which has no
 * time. Undefined: no longer, also where the clock was set back.
 */
export function countsForMs(refusedAtMs: number | undefined, nowMs: number): number | undefined {
  if (refusedAtMs === undefined) return Number.POSITIVE_INFINITY;
  const agoMs = nowMs - refusedAtMs;
  return agoMs >= 0 && agoMs < AGAIN_MS ? AGAIN_MS - agoMs : undefined;
}
