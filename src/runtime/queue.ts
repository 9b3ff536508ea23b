import { type BackoffLimits, fullJitter } from './backoff.ts';
import type { Clock } from './clock.ts';
import { DueTimes } from './due-times.ts';

export interface QueueOptions {
  readonly clock: Clock;
  readonly random?: (() => number) | undefined;
  readonly backoff?: BackoffLimits | undefined;
}

const BACKOFF: BackoffLimits = { baseMs: 1000, capMs: 60_000 };
// The longest that setTimeout can wait; a due time beyond it is looked at again then.
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * A work queue of keys, never of objects: whoever takes a key reads the newest state itself.
 *
 * Invariants
 *  1. A key waits at most once, however often it is added.
 *  2. A key is never in two hands: what comes due while it is taken comes back on `done`.
 *  3. Keys that are due are handed out in the order in which they became due.
 *  4. After `drain` nothing is accepted and what is not yet due is dropped; after `close` nothing is handed out either.
 *  5. One timer, whatever the number of keys.
 */
export class KeyedQueue<K extends string> {
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #backoff: BackoffLimits;
  readonly #ready = new Set<K>();
  readonly #taken = new Set<K>();
  /** Came due while taken. */
  readonly #again = new Set<K>();
  readonly #due = new DueTimes<K>();
  readonly #failures = new Map<K, number>();
  #takers: ((key: K | undefined) => void)[] = [];
  #timer: { readonly at: number; readonly cancel: () => void } | undefined;
  #accepts = true;

  constructor(options: QueueOptions) {
    this.#clock = options.clock;
    this.#random = options.random ?? Math.random;
    this.#backoff = options.backoff ?? BACKOFF;
  }

  /** Keys that wait, due or not; those in hand are not counted. */
  get size(): number {
    return this.#ready.size + this.#again.size + this.#due.size;
  }

  /** When the key will be handed out: a time that has passed where it waits only for a free hand. */
  dueAt(key: K): number | undefined {
    return this.#isReady(key) ? this.#clock.now() : this.#due.at(key);
  }

  /** Due now, whatever was planned. */
  add(key: K): void {
    if (!this.#accepts) return;
    this.#due.delete(key);
    this.#makeReady(key);
  }

  /** Due at `at`, or when it is already, whichever is earlier. */
  addAt(key: K, at: number): void {
    if (!this.#accepts || this.#isReady(key)) return;
    const planned = this.#due.at(key);
    if (planned === undefined || at < planned) this.#plan(key, at);
  }

  /** Due after `ms`, or when it is already, whichever is earlier. */
  addAfter(key: K, ms: number): void {
    this.addAt(key, this.#clock.now() + ms);
  }

  /** Due at `at`, whatever was planned: a quiet period moves later with each change. */
  schedule(key: K, at: number): void {
    if (!this.#accepts) return;
    this.#ready.delete(key);
    this.#again.delete(key);
    this.#plan(key, at);
  }

  /** Due after a time that grows with each failure since `forget`, yet at least `atLeastMs`; says when. */
  retry(key: K, atLeastMs = 0): number {
    const failures = (this.#failures.get(key) ?? 0) + 1;
    if (this.#accepts) this.#failures.set(key, failures);
    const at = this.#clock.now() + Math.max(atLeastMs, fullJitter(failures, this.#backoff, this.#random));
    this.addAt(key, at);
    return at;
  }

  /** Failures since the last `forget`. */
  failures(key: K): number {
    return this.#failures.get(key) ?? 0;
  }

  /** Its failures are history: the next one counts as the first. */
  forget(key: K): void {
    this.#failures.delete(key);
  }

  /** Nothing is to be done for the key any more. */
  remove(key: K): void {
    this.#ready.delete(key);
    this.#again.delete(key);
    this.#due.delete(key);
    this.#failures.delete(key);
  }

  /** The next key, once there is one; whoever takes it must say `done`. Undefined: the queue is closed. */
  take(): Promise<K | undefined> {
    const [key] = this.#ready;
    if (key !== undefined) {
      this.#ready.delete(key);
      this.#taken.add(key);
      return Promise.resolve(key);
    }
    if (!this.#accepts) return Promise.resolve(undefined);
    return new Promise((resolve) => this.#takers.push(resolve));
  }

  done(key: K): void {
    this.#taken.delete(key);
    if (this.#again.delete(key)) this.#makeReady(key);
  }

  /** Accepts nothing more; what is due is still handed out. */
  drain(): void {
    this.#accepts = false;
    this.#due.clear();
    this.#timer?.cancel();
    this.#timer = undefined;
    const takers = this.#takers;
    this.#takers = [];
    for (const taker of takers) taker(undefined);
  }

  /** Accepts nothing more and hands out nothing more. */
  close(): void {
    this.drain();
    this.#ready.clear();
    this.#again.clear();
  }

  #isReady(key: K): boolean {
    return this.#ready.has(key) || this.#again.has(key);
  }

  #makeReady(key: K): void {
    if (this.#taken.has(key)) {
      this.#again.add(key);
      return;
    }
    const taker = this.#takers.shift();
    if (taker) {
      this.#taken.add(key);
      taker(key);
    } else this.#ready.add(key);
  }

  #plan(key: K, at: number): void {
    this.#due.set(key, at);
    this.#setTimer();
  }

  #setTimer(): void {
    const first = this.#due.first;
    // A timer that is too early only looks and is set again: cheaper than to cancel one whenever a key moves later.
    if (first === undefined || (this.#timer && this.#timer.at <= first)) return;
    this.#timer?.cancel();
    const waitMs = Math.min(Math.max(first - this.#clock.now(), 0), MAX_TIMER_MS);
    this.#timer = { at: first, cancel: this.#clock.after(waitMs, () => this.#onTimer()) };
  }

  #onTimer(): void {
    this.#timer = undefined;
    const now = this.#clock.now();
    for (let key = this.#due.takeDue(now); key !== undefined; key = this.#due.takeDue(now)) this.#makeReady(key);
    this.#setTimer();
  }
}
