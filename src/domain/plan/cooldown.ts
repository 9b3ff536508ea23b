import type { OwnReloads } from '../state/own-reloads.ts';

// Times on objects are by the clock of another server, and anybody may write one.
const CLOCKS_APART_MS = 10_000;

/**
 * Until when the next reload waits, in milliseconds of the server's clock; undefined: none is waited for, or what there was
 * is said to be yet to come.
 */
export function cooldownEnd(
  { at }: Pick<OwnReloads, 'at'>,
  cooldownMs: number | undefined,
  serverNow: number,
): number | undefined {
  if (at === undefined || cooldownMs === undefined || at * 1000 > serverNow + CLOCKS_APART_MS) return undefined;
  return at * 1000 + cooldownMs;
}
