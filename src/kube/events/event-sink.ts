import { EVENTS } from '../../api/resources.ts';
import { fullJitter, pause } from '../../runtime/backoff.ts';
import { type Clock, systemClock } from '../../runtime/clock.ts';
import type { KubeClient } from '../client.ts';
import { KubeError } from '../kube-error.ts';
import { isTransient } from '../retry-transient.ts';
import { EventRateLimiter, RecentEvents } from './event-correlation.ts';
import { DropCounter, type EventReport } from './event-drops.ts';
import { type EventPost, eventBody, eventName, eventNamespace, seconds } from './event-post.ts';
import { EventQueue, type WaitingEvent } from './event-queue.ts';

export interface EventSinkOptions {
  readonly client: Pick<KubeClient, 'create' | 'patch' | 'inFlight'>;
  readonly clock?: Clock | undefined;
  /** How much may wait; more is dropped. */
  readonly maxBytes?: number | undefined;
  readonly report?: EventReport | undefined;
}

const MAX_BYTES = 8 * 1024 * 1024;
// How many are sent at once: enough for hundreds a second, and a server that answers slowly gets few.
const SENDERS = 6;
// An Event often follows the first of many writes: this lets the others start before it.
const START_DELAY_MS = 1;
// How long Events wait for other calls in flight, less as the queue fills, and how often they check.
const YIELD_MS = 1000;
const CHECK_MS = 20;
// As client-go.
const MAX_TRIES = 12;
const BACKOFF = { baseMs: 500, capMs: 30_000 };

/**
 * Creates Events, after everything else that the client has to do. Never throws, never blocks its caller.
 *
 * Invariants
 *  1. An Event that repeats within ten minutes is the same Event with a higher count.
 *  2. Each object has a rate limit of its own, so that it cannot crowd out the others.
 *  3. Memory is bounded.
 *  4. The server sets the pace: few are in flight at once, and none before the time of a Retry-After.
 *  5. Drops are reported, as a series and not one by one.
 */
export class EventSink {
  readonly #client: EventSinkOptions['client'];
  readonly #clock: Clock;
  readonly #report: EventReport | undefined;
  readonly #queue: EventQueue;
  readonly #recent = new RecentEvents();
  readonly #limiter = new EventRateLimiter();
  readonly #stop = new AbortController();
  readonly #drops: DropCounter;
  readonly #senders = new Set<Promise<void>>();
  #running = 0;
  #calls = 0;
  #sent = 0;
  #failed = 0;
  #yielding: Promise<void> | undefined;
  #failures = 0;
  #heldUntil = 0;
  #closed = false;

  constructor(options: EventSinkOptions) {
    this.#client = options.client;
    this.#clock = options.clock ?? systemClock;
    this.#report = options.report;
    this.#drops = new DropCounter(this.#clock, options.report);
    this.#queue = new EventQueue(options.maxBytes ?? MAX_BYTES);
  }

  get counts() {
    return { sent: this.#sent, dropped: this.#drops.total, failed: this.#failed };
  }

  post(event: EventPost): void {
    if (this.#closed) this.#drops.addUnsent(1);
    else if (!this.#limiter.accepts(event, this.#clock.now())) this.#drops.add('limited', event);
    else if (!this.#queue.add(event, this.#clock.wall())) this.#drops.add('full', event);
    else if (this.#running === 0) this.#startSender(START_DELAY_MS);
  }

  /** Accepts no more, and sends what waits until the deadline. */
  async close(deadlineMs: number): Promise<void> {
    this.#closed = true;
    const cancel = this.#clock.after(deadlineMs, () => this.#stop.abort(new Error('no time left for Events')));
    while (this.#senders.size > 0) await Promise.all(this.#senders);
    cancel();
    this.#drops.addUnsent(this.#queue.clear());
    this.#drops.close();
  }

  #startSender(afterMs: number): void {
    this.#running += 1;
    const sender = this.#run(afterMs).finally(() => this.#senders.delete(sender));
    this.#senders.add(sender);
  }

  async #run(afterMs: number): Promise<void> {
    await pause(this.#clock, afterMs, this.#stop.signal);
    while (!this.#queue.isEmpty && !this.#stop.signal.aborted) {
      await this.#waitForOthers();
      const waiting = this.#stop.signal.aborted ? undefined : this.#queue.take();
      // The rest is about objects of which another sender is sending one: that sender goes on with them.
      if (!waiting) break;
      if (!this.#queue.isEmpty && this.#running < SENDERS) this.#startSender(0);
      await this.#deliver(waiting);
      this.#queue.done(waiting);
    }
    // Not in `finally`, which runs later: a post in between would start no sender.
    this.#running -= 1;
    if (this.#running === 0 && this.#queue.isEmpty) this.#drops.end('full');
  }

  /** All senders share one wait, for other calls in flight and for a Retry-After. */
  #waitForOthers(): Promise<void> {
    this.#yielding ??= this.#yield().finally(() => {
      this.#yielding = undefined;
    });
    return this.#yielding;
  }

  async #yield(): Promise<void> {
    const { signal } = this.#stop;
    await pause(this.#clock, this.#heldUntil - this.#clock.now(), signal);
    const until = this.#clock.now() + YIELD_MS * (1 - this.#queue.fill);
    while (this.#client.inFlight > this.#calls && this.#clock.now() < until && !signal.aborted) {
      await pause(this.#clock, CHECK_MS, signal);
    }
  }

  /** Retries until it was accepted or refused, the tries are used up, or the deadline has come. */
  async #deliver(waiting: WaitingEvent): Promise<void> {
    const name = eventName(waiting.event);
    for (let tries = 1; !this.#stop.signal.aborted; tries += 1) {
      try {
        await this.#send(waiting, name);
        this.#failures = 0;
        this.#sent += waiting.count;
        return;
      } catch (error) {
        if (this.#stop.signal.aborted) break;
        const mayRetry = KubeError.is(error) && isTransient(error) && tries < MAX_TRIES;
        if (!mayRetry) {
          this.#failed += waiting.count;
          if (KubeError.is(error)) this.#report?.refused(error);
          return;
        }
        this.#backOff(error);
        await this.#waitForOthers();
      }
    }
    this.#drops.addUnsent(waiting.count);
  }

  async #send(waiting: WaitingEvent, name: string): Promise<void> {
    this.#calls += 1;
    try {
      if (!(await this.#countUp(waiting))) await this.#create(waiting, name);
    } finally {
      this.#calls -= 1;
    }
  }

  /** False: it is not a repetition, or the Event to count up no longer exists. */
  async #countUp({ key, event, count, lastAt }: WaitingEvent): Promise<boolean> {
    const last = this.#recent.get(key, this.#clock.now());
    if (!last) return false;
    const { name } = last;
    const ref = { namespace: eventNamespace(event), name };
    const body = { count: last.count + count, lastTimestamp: seconds(lastAt) };
    const { fieldManager } = event;
    const at = this.#clock.now();
    try {
      await this.#client.patch(EVENTS, ref, body, { type: 'merge', fieldManager, signal: this.#stop.signal });
    } catch (error) {
      if (!KubeError.is(error, 'NotFound', 'Forbidden')) throw error;
      this.#recent.forget(key);
      return false;
    }
    this.#recent.set(key, { name, count: body.count, at });
    return true;
  }

  async #create({ key, event, ...times }: WaitingEvent, name: string): Promise<void> {
    const options = { fieldManager: event.fieldManager, signal: this.#stop.signal };
    try {
      await this.#client.create(EVENTS, eventNamespace(event), eventBody(event, name, times), options);
    } catch (error) {
      // The name is random, so it is ours: an earlier try arrived, and its answer was lost.
      if (!KubeError.is(error, 'AlreadyExists')) throw error;
    }
    this.#recent.set(key, { name, count: times.count, at: this.#clock.now() });
  }

  /** One failure delays all senders; those that were in flight at the same time do not lengthen the delay. */
  #backOff({ retryAfterMs = 0 }: KubeError): void {
    const now = this.#clock.now();
    if (now >= this.#heldUntil) this.#failures += 1;
    const waitMs = Math.max(retryAfterMs, fullJitter(this.#failures, BACKOFF, Math.random));
    this.#heldUntil = Math.max(this.#heldUntil, now + waitMs);
  }
}
