import type { EventPost } from './event-post.ts';

// As client-go's EventCorrelator: an Event that repeats within ten minutes is counted up, and an object may cause 25 at
// once and one more every five minutes.
const REPEAT_WINDOW_MS = 600_000;
const BURST = 25;
const REFILL_MS = 300_000;
const MAX_REMEMBERED = 4096;

/** An Event that exists on the server. */
interface SentEvent {
  readonly name: string;
  readonly count: number;
  readonly at: number;
}

/** The Events of the last ten minutes, which a repetition counts up. */
export class RecentEvents {
  readonly #sent = new Map<string, SentEvent>();

  get(key: string, now: number): SentEvent | undefined {
    const last = this.#sent.get(key);
    return last && now - last.at <= REPEAT_WINDOW_MS ? last : undefined;
  }

  set(key: string, sent: SentEvent): void {
    remember(this.#sent, key, sent);
  }

  forget(key: string): void {
    this.#sent.delete(key);
  }
}

/** A token bucket for each object. */
export class EventRateLimiter {
  readonly #buckets = new Map<string, { readonly left: number; readonly at: number }>();

  /** False: it is over its limit. */
  accepts({ regarding, component }: EventPost, now: number): boolean {
    const key = `${component}/${regarding.uid}`;
    const last = this.#buckets.get(key) ?? { left: BURST, at: now };
    const left = Math.min(BURST, last.left + (now - last.at) / REFILL_MS);
    remember(this.#buckets, key, { left: left >= 1 ? left - 1 : left, at: now });
    return left >= 1;
  }
}

/** Sets an entry as the newest, and deletes the oldest if there are too many. */
function remember<V>(map: Map<string, V>, key: string, value: V): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= MAX_REMEMBERED) return;
  const [oldest] = map.keys();
  if (oldest !== undefined) map.delete(oldest);
}
