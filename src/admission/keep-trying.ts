import { KubeError } from '../kube/kube-error.ts';
import { pause, upperJitter } from '../runtime/backoff.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Log } from '../telemetry/log.ts';

export interface Trying {
  readonly clock: Clock;
  readonly log: Log;
  /** The failure in a sentence, with its cure. */
  readonly explain: (error: unknown) => string;
  /** Is given a function that ends the present wait, or the next. */
  readonly onWake?: ((wake: () => void) => void) | undefined;
}

const BACKOFF = { baseMs: 1000, capMs: 10_000 };

/**
 * Does the work again and again until aborted; it says how long to wait until the next time. A failure is told once, until
 * it is another one or over, and the work is tried again.
 */
export async function keepTrying(
  work: () => Promise<number>,
  { clock, log, explain, onWake }: Trying,
  signal: AbortSignal,
): Promise<void> {
  let told = '';
  let failures = 0;
  let isWoken = false;
  let nap = new AbortController();
  onWake?.(() => {
    isWoken = true;
    nap.abort();
  });
  while (!signal.aborted) {
    isWoken = false;
    let waitMs: number;
    try {
      waitMs = await work();
      told = '';
      failures = 0;
    } catch (error) {
      if (signal.aborted) return;
      failures += 1;
      const text = explain(error);
      if (text !== told) log.warn(text);
      told = text;
      const askedMs = KubeError.is(error) ? (error.retryAfterMs ?? 0) : 0;
      waitMs = Math.max(askedMs, upperJitter(failures, BACKOFF, Math.random));
    }
    nap = new AbortController();
    if (!isWoken) await pause(clock, waitMs, AbortSignal.any([signal, nap.signal]));
  }
}
