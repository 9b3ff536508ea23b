import type { Clock } from '../runtime/clock.ts';

// How often the date of an answer is read. It is in whole seconds; a few samples show when a second begins.
const SAMPLE_MS = 250;
const DATE_GRAIN_MS = 1000;

/**
 * The API server's clock, in milliseconds since the epoch. Objects carry its times, so whatever is compared with them, or
 * with what another process has written, has to use the same clock.
 *
 * It starts with our wall clock and then follows our monotonic clock. Each `Date` that is read corrects it by as much as
 * the answer proves it wrong. So it is exact where our wall clock was right at the start, right to a second where it was
 * not, and later jumps of the wall clock do not change it.
 */
export class ServerTime {
  readonly #clock: Pick<Clock, 'now'>;
  #aheadMs: number;
  #sampleAt = Number.NEGATIVE_INFINITY;

  constructor(clock: Pick<Clock, 'now' | 'wall'>) {
    this.#clock = clock;
    this.#aheadMs = clock.wall() - clock.now();
  }

  now(): number {
    return Math.floor(this.#clock.now() + this.#aheadMs);
  }

  /** Whether the date of the next answer should be read. */
  get wantsDate(): boolean {
    return this.#clock.now() >= this.#sampleAt;
  }

  /** Takes the date of an answer that was asked for at `askedAt` (by our clock): it was written between then and now. */
  observe(date: string, askedAt: number): void {
    const at = date.endsWith(' GMT') ? Date.parse(date) : Number.NaN;
    if (Number.isNaN(at)) return;
    const now = this.#clock.now();
    this.#sampleAt = now + SAMPLE_MS;
    this.#aheadMs = Math.min(Math.max(this.#aheadMs, at - now), at + DATE_GRAIN_MS - askedAt);
  }
}
