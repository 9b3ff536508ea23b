import type { Clock } from '../runtime/clock.ts';

// How often the date of an answer is looked at. It has no fractions; a few looks within a second tell when one begins.
const LOOK_MS = 250;
const DATE_GRAIN_MS = 1000;

/**
 * What the API server's clock says, in milliseconds since the epoch: it puts the times on objects, and what is compared
 * with them, or with what another process left, has to go by the same clock.
 *
 * It begins with what our own wall clock said at the start. From then on our time passes evenly, and each `Date` that
 * is looked at corrects it by as much as the answer proves it wrong. So it is as fine as our own clock where that is
 * right, right to a second where it is not, and nothing that happens to the wall clock afterwards changes it.
 */
export class ServerTime {
  readonly #clock: Pick<Clock, 'now'>;
  #aheadMs: number;
  #lookAt = Number.NEGATIVE_INFINITY;

  constructor(clock: Pick<Clock, 'now' | 'wall'>) {
    this.#clock = clock;
    this.#aheadMs = clock.wall() - clock.now();
  }

  now(): number {
    return Math.floor(this.#clock.now() + this.#aheadMs);
  }

  /** Whether the date of an answer that comes now is worth a look. */
  get wantsDate(): boolean {
    return this.#clock.now() >= this.#lookAt;
  }

  /** The date of an answer, and when (by our clock) it had been asked for: it was written between then and now. */
  heard(date: string, askedAt: number): void {
    const at = date.endsWith(' GMT') ? Date.parse(date) : Number.NaN;
    if (Number.isNaN(at)) return;
    const now = this.#clock.now();
    this.#lookAt = now + LOOK_MS;
    this.#aheadMs = Math.min(Math.max(this.#aheadMs, at - now), at + DATE_GRAIN_MS - askedAt);
  }
}
