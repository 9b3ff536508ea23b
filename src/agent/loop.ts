import { fullJitter } from '../runtime/backoff.ts';
import type { Clock } from '../runtime/clock.ts';

export interface LoopOptions {
  /** Brings the program to what is wanted, and says after how long it wants to be called again. */
  readonly pass: () => Promise<{ readonly againAfterMs?: number | undefined }>;
  /** A pass has failed; the next one comes after so long, or when something wakes the loop. */
  readonly failed: (error: unknown, retryInMs: number) => void;
  readonly clock: Clock;
  /** A pass is due this long after the last one, even if nothing happened; undefined: never. */
  readonly resyncMs: number | undefined;
  /** The least time between the starts of two passes. */
  readonly gapMs: number;
}

const BACKOFF = { baseMs: 200, capMs: 30_000 };

/**
 * Calls `pass` whenever something may have changed: one at a time, and once for however many wakes came meanwhile. What an
 * agent keeps in tune is the engine's business; a loop knows nothing of it.
 */
export class Loop {
  readonly #options: LoopOptions;
  #isDue = true;
  #failures = 0;
  #sleeper: (() => void) | undefined;

  constructor(options: LoopOptions) {
    this.#options = options;
  }

  /** Something may have changed. */
  wake(): void {
    this.#isDue = true;
    this.#sleeper?.();
  }

  /** Runs until the signal; a pass under way is waited for. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, gapMs } = this.#options;
    while (!signal.aborted) {
      this.#isDue = false;
      const began = clock.now();
      const waitMs = await this.#pass();
      if (signal.aborted) return;
      await this.#sleep(waitMs, signal);
      await this.#sleepFor(gapMs - (clock.now() - began), signal);
    }
  }

  async #pass(): Promise<number> {
    const { pass, failed, resyncMs = Number.POSITIVE_INFINITY } = this.#options;
    try {
      const { againAfterMs = Number.POSITIVE_INFINITY } = await pass();
      this.#failures = 0;
      return Math.min(againAfterMs, resyncMs);
    } catch (error) {
      this.#failures += 1;
      const retryInMs = fullJitter(this.#failures, BACKOFF, Math.random);
      failed(error, retryInMs);
      return retryInMs;
    }
  }

  /** Until then, or until somebody wakes it. */
  #sleep(ms: number, signal: AbortSignal): Promise<void> {
    if (this.#isDue || ms <= 0) return Promise.resolve();
    return this.#wait(ms, signal, (end) => {
      this.#sleeper = end;
    });
  }

  /** Also if somebody wakes it. */
  #sleepFor(ms: number, signal: AbortSignal): Promise<void> {
    return ms <= 0 ? Promise.resolve() : this.#wait(ms, signal, () => {});
  }

  #wait(ms: number, signal: AbortSignal, ends: (end: () => void) => void): Promise<void> {
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const cancel = Number.isFinite(ms) ? this.#options.clock.after(ms, () => end()) : () => {};
      const end = (): void => {
        this.#sleeper = undefined;
        signal.removeEventListener('abort', end);
        cancel();
        resolve();
      };
      signal.addEventListener('abort', end, { once: true });
      ends(end);
    });
  }
}
