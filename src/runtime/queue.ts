import { type BackoffLimits, fullJitter, upperJitter } from './backoff.ts';
import type { Clock } from './clock.ts';
import { DueTimes } from './due-times.ts';

export interface QueueOptions {
  readonly clock: Clock;
  readonly random?: (() => number) | undefined;
  readonly backoff?: BackoffLimits | undefined;
}

const BACKOFF: BackoffLimits = { baseMs: 1000, capMs: 60_000 };
// What the server refuses is tried again now and then: a policy, a quota or a right may have changed unnoticed.
const REFUSED_CAP_MS = 300_000;

/** What a failure says about the next try. */
export interface RetryHint {
  /** The shortest wait, where the server named one. */
  readonly atLeastMs?: number | undefined;
  /** It will most likely fail again: no try comes early, and the waits grow longer than usual. */
  readonly isRefusal?: boolean | undefined;
  /** The server could not be reached: not the key's own doing, and over when the server is back. */
  readonly isOutage?: boolean | undefined;
}

interface Failed {
  readonly count: number;
  readonly at: number;
  readonly until: number;
  readonly isOutage: boolean;
}

/**
 * A work queue of keys, never of objects: whoever takes a key reads the newest state itself.
 *
 * Invariants
 *  1. A key waits at most once, however often it is added.
 *  2. A key is taken by one worker at a time: what comes due meanwhile comes back on `done`.
 *  3. Keys that are due are handed out in the order in which they became due.
 *  4. A key that failed is not handed out before its back-off is over, whoever adds it; only `release` and `forgive` end
 *     that early.
 *  5. One timer, whatever the number of keys, and none while nobody waits for a key.
 *  6. Workers come and go, a term of leadership at a time; keys that nobody took wait for the next ones.
 */
export class KeyedQueue<K extends string> {
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #backoff: BackoffLimits;
  readonly #ready = new Set<K>();
  /** In a worker's hands, with the failure that each had been through. */
  readonly #taken = new Map<K, Failed | undefined>();
  /** Came due while taken. */
  readonly #again = new Set<K>();
  readonly #due = new DueTimes<K>();
  readonly #failed = new Map<K, Failed>();
  readonly #takers = new Set<(key: K) => void>();
  #timer: { readonly at: number; readonly cancel: () => void } | undefined;

  constructor(options: QueueOptions) {
    this.#clock = options.clock;
    this.#random = options.random ?? Math.random;
    this.#backoff = options.backoff ?? BACKOFF;
  }

  /** Keys that wait, due or not; those that are taken are not counted. */
  get size(): number {
    return this.#ready.size + this.#again.size + this.#due.size;
  }

  /** When the key will be handed out: a time that has passed where it waits only for a free worker. */
  dueAt(key: K): number | undefined {
    return this.#ready.has(key) || this.#again.has(key) ? this.#clock.now() : this.#due.at(key);
  }

  /** Due now, whatever was planned. */
  add(key: K): void {
    this.schedule(key, this.#clock.now());
  }

  /** Due at `at`, whatever was planned: a quiet period moves later with each change. */
  schedule(key: K, at: number): void {
    const due = Math.max(at, this.#failed.get(key)?.until ?? at);
    // A timer of zero still costs a millisecond.
    if (due <= this.#clock.now()) {
      this.#due.delete(key);
      this.#collectDue();
      this.#makeReady(key);
    } else this.#postpone(key, due);
  }

  /** Due after a time that grows with each failure in a row, or later if that was planned meanwhile; says when. */
  retry(key: K, { atLeastMs = 0, isRefusal = false, isOutage = false }: RetryHint = {}): number {
    const at = this.#clock.now();
    const count = (this.#failed.get(key)?.count ?? 0) + 1;
    const waitMs = isRefusal
      ? upperJitter(count, { ...this.#backoff, capMs: REFUSED_CAP_MS }, this.#random)
      : fullJitter(count, this.#backoff, this.#random);
    const until = at + Math.max(atLeastMs, waitMs);
    this.#failed.set(key, { count, at, until, isOutage });
    this.#postpone(key, Math.max(until, this.#due.at(key) ?? until));
    return until;
  }

  /** Something has changed that may cure it: its failures are forgotten. True if it was waiting because of them. */
  release(key: K): boolean {
    const failed = this.#failed.get(key);
    this.#failed.delete(key);
    return failed !== undefined && failed.until > this.#clock.now();
  }

  /** The server is back: keys that failed because of it since then are due soon, and their next failure is the first. */
  forgive(since: number): void {
    for (const [key, { at, until, isOutage }] of this.#failed) {
      if (!isOutage || at < since) continue;
      this.#failed.delete(key);
      // Spread, so that a thousand keys do not all return at once.
      const soon = this.#clock.now() + this.#random() * this.#backoff.baseMs;
      if (this.#due.at(key) === until && soon < until) this.#plan(key, soon);
    }
  }

  /** It was handled, and its earlier failures are forgotten, unless it asked for another try meanwhile. */
  handled(key: K): void {
    if (this.#failed.get(key) === this.#taken.get(key)) this.#failed.delete(key);
  }

  /** Nothing is to be done for the key any more. */
  remove(key: K): void {
    this.#ready.delete(key);
    this.#again.delete(key);
    this.#due.delete(key);
    this.#failed.delete(key);
  }

  /** The next key, once there is one; whoever takes it must say `done`. Undefined: the signal was aborted first. */
  take(signal?: AbortSignal): Promise<K | undefined> {
    if (signal?.aborted) return Promise.resolve(undefined);
    this.#collectDue();
    const [key] = this.#ready;
    if (key !== undefined) {
      this.#ready.delete(key);
      this.#taken.set(key, this.#failed.get(key));
      return Promise.resolve(key);
    }
    return new Promise((resolve) => {
      const leave = (): void => {
        this.#takers.delete(taker);
        if (this.#takers.size === 0) this.#stopTimer();
        resolve(undefined);
      };
      const taker = (taken: K): void => {
        signal?.removeEventListener('abort', leave);
        resolve(taken);
      };
      signal?.addEventListener('abort', leave, { once: true });
      this.#takers.add(taker);
      this.#setTimer();
    });
  }

  done(key: K): void {
    this.#taken.delete(key);
    if (!this.#again.delete(key)) return;
    this.#collectDue();
    this.#makeReady(key);
  }

  /** Taken, but not handled: it waits for the next worker. */
  giveBack(key: K): void {
    this.add(key);
    this.done(key);
  }

  #makeReady(key: K): void {
    const [taker] = this.#takers;
    if (this.#taken.has(key)) this.#again.add(key);
    else if (taker) {
      this.#takers.delete(taker);
      this.#taken.set(key, this.#failed.get(key));
      taker(key);
    } else this.#ready.add(key);
  }

  /** Due at `at` and not before. */
  #postpone(key: K, at: number): void {
    this.#ready.delete(key);
    this.#again.delete(key);
    this.#plan(key, at);
  }

  #plan(key: K, at: number): void {
    this.#due.set(key, at);
    this.#setTimer();
  }

  #setTimer(): void {
    const first = this.#due.first;
    // A timer that is too early only looks and is set again: cheaper than to cancel one whenever a key moves later.
    if (first === undefined || this.#takers.size === 0 || (this.#timer && this.#timer.at <= first)) return;
    this.#stopTimer();
    const waitMs = Math.max(first - this.#clock.now(), 0);
    const cancel = this.#clock.after(waitMs, () => {
      this.#timer = undefined;
      this.#collectDue();
      this.#setTimer();
    });
    this.#timer = { at: first, cancel };
  }

  #stopTimer(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #collectDue(): void {
    const now = this.#clock.now();
    for (let key = this.#due.takeDue(now); key !== undefined; key = this.#due.takeDue(now)) this.#makeReady(key);
  }
}
