import { randomBytes } from 'node:crypto';
import { EVENTS } from '../../api/resources.ts';
import { fullJitter, pause } from '../../runtime/backoff.ts';
import { type Clock, systemClock } from '../../runtime/clock.ts';
import type { KubeClient } from '../client.ts';
import { KubeError } from '../kube-error.ts';
import { isTransient } from '../retry-transient.ts';
import { EventRateLimiter, RecentEvents, type SentEvent } from './event-correlation.ts';
import { DropCounter, type EventReport } from './event-drops.ts';
import { type EventPost, eventBody, eventName, eventNamespace, seconds } from './event-post.ts';
import { EventQueue, type WaitingEvent } from './event-queue.ts';

export interface EventSinkOptions {
  readonly client: Pick<KubeClient, 'create' | 'patch' | 'inFlight'>;
  readonly clock?: Clock | undefined;
  /** Most that may wait; more is dropped. */
  readonly maxBytes?: number | undefined;
  readonly report?: EventReport | undefined;
}

export interface EventCounts {
  readonly sent: number;
  /** No room for it, or one object too talkative, or no time left. */
  readonly dropped: number;
  readonly failed: number;
}

const MAX_BYTES = 8 * 1024 * 1024;
// So many at once: a server with time for them takes hundreds a second, and one that answers slowly is asked slowly.
const LANES = 6;
// Whoever posts has often just written one of many: a moment lets the next ones begin. No more than that, because to wake
// up for an Event alone costs as much as to send it.
const MOMENT_MS = 1;
// How long Events let other calls go first, less as the queue fills, and how often they look.
const YIELD_MS = 1000;
const LOOK_MS = 20;
// As often as client-go tries.
const MAX_TRIES = 12;
const BACKOFF = { baseMs: 500, capMs: 30_000 };

/**
 * Creates Events behind everything else that the client does; never throws, never blocks its caller.
 *
 * Invariants
 *  1. An Event that repeats within ten minutes is the same Event with a higher count.
 *  2. No object can flood the others: each has its own allowance.
 *  3. Memory is bounded, whatever is posted.
 *  4. The server sets the pace: few are under way at once, and none while it asks to be left alone.
 *  5. Nothing is dropped in silence, and no line is written for each.
 */
export class EventSink {
  readonly #client: EventSinkOptions['client'];
  readonly #clock: Clock;
  readonly #report: EventReport | undefined;
  readonly #queue: EventQueue;
  readonly #known = new RecentEvents();
  readonly #allowances = new EventRateLimiter();
  readonly #stop = new AbortController();
  readonly #drops: DropCounter;
  readonly #lanes = new Set<Promise<void>>();
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

  get counts(): EventCounts {
    return { sent: this.#sent, dropped: this.#drops.total, failed: this.#failed };
  }

  post(event: EventPost): void {
    if (this.#closed) this.#drops.lose(1);
    else if (!this.#allowances.take(event, this.#clock.now())) this.#drops.add('talkative', event);
    else if (!this.#queue.add(event, this.#wall())) this.#drops.add('full', event);
    else if (this.#running === 0) this.#open(MOMENT_MS);
  }

  /** Accepts nothing more, and sends what waits as long as the deadline allows. */
  async close(deadlineMs: number): Promise<void> {
    this.#closed = true;
    const cancel = this.#clock.after(deadlineMs, () => this.#stop.abort(new Error('no time left for Events')));
    while (this.#lanes.size > 0) await Promise.all(this.#lanes);
    cancel();
    this.#drops.lose(this.#queue.clear());
    this.#drops.close();
  }

  #open(afterMs: number): void {
    this.#running += 1;
    const lane = this.#run(afterMs).finally(() => this.#lanes.delete(lane));
    this.#lanes.add(lane);
  }

  async #run(afterMs: number): Promise<void> {
    await pause(this.#clock, afterMs, this.#stop.signal);
    while (!this.#queue.isEmpty && !this.#stop.signal.aborted) {
      await this.#letOthersGo();
      const waiting = this.#stop.signal.aborted ? undefined : this.#queue.take();
      // What is left is about objects that another lane has in hand, and that goes on with it.
      if (!waiting) break;
      if (!this.#queue.isEmpty && this.#running < LANES) this.#open(0);
      await this.#deliver(waiting);
      this.#queue.done(waiting);
    }
    // At once: who posts now has to see that a lane is to be opened.
    this.#running -= 1;
    if (this.#running === 0 && this.#queue.isEmpty) this.#drops.end('full');
  }

  /** All lanes wait for the same: what others have under way, and what the server asked for. */
  #letOthersGo(): Promise<void> {
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
      await pause(this.#clock, LOOK_MS, signal);
    }
  }

  /** Tries until it is there, or the server does not want it, or there is no sense in going on. */
  async #deliver(waiting: WaitingEvent): Promise<void> {
    const name = eventName(waiting.event, randomBytes(8).toString('hex'));
    for (let tries = 1; !this.#stop.signal.aborted; tries += 1) {
      try {
        await this.#send(waiting, name);
        this.#failures = 0;
        this.#sent += waiting.count;
        return;
      } catch (error) {
        if (this.#stop.signal.aborted) break;
        const isWorthIt = KubeError.is(error) && isTransient(error) && tries < MAX_TRIES;
        if (!isWorthIt) return this.#fail(waiting, error);
        this.#holdFor(error);
        await this.#letOthersGo();
      }
    }
    this.#drops.lose(waiting.count);
  }

  async #send(waiting: WaitingEvent, name: string): Promise<void> {
    this.#calls += 1;
    try {
      if (!(await this.#countUp(waiting))) await this.#create(waiting, name);
    } finally {
      this.#calls -= 1;
    }
  }

  /** False: it is no repetition, or the Event to count up is gone. */
  async #countUp({ key, event, count, lastAt }: WaitingEvent): Promise<boolean> {
    const last = this.#known.get(key, this.#clock.now());
    if (!last) return false;
    const next: SentEvent = { name: last.name, count: last.count + count, at: this.#clock.now() };
    const ref = { namespace: eventNamespace(event), name: last.name };
    const body = { count: next.count, lastTimestamp: seconds(lastAt) };
    const { fieldManager } = event;
    try {
      await this.#client.patch(EVENTS, ref, body, { type: 'merge', fieldManager, signal: this.#stop.signal });
    } catch (error) {
      if (!KubeError.is(error, 'NotFound', 'Forbidden')) throw error;
      this.#known.forget(key);
      return false;
    }
    this.#known.set(key, next);
    return true;
  }

  async #create({ key, event, ...times }: WaitingEvent, name: string): Promise<void> {
    const options = { fieldManager: event.fieldManager, signal: this.#stop.signal };
    try {
      await this.#client.create(EVENTS, eventNamespace(event), eventBody(event, name, times), options);
    } catch (error) {
      // The name is ours alone: an earlier try arrived, and only its answer did not.
      if (!KubeError.is(error, 'AlreadyExists')) throw error;
    }
    this.#known.set(key, { name, count: times.count, at: this.#clock.now() });
  }

  /** One refusal holds all lanes, and those that were under way with it count no further. */
  #holdFor({ retryAfterMs = 0 }: KubeError): void {
    const now = this.#clock.now();
    if (now >= this.#heldUntil) this.#failures += 1;
    const waitMs = Math.max(retryAfterMs, fullJitter(this.#failures, BACKOFF, Math.random));
    this.#heldUntil = Math.max(this.#heldUntil, now + waitMs);
  }

  #fail({ count }: WaitingEvent, error: unknown): void {
    this.#failed += count;
    if (KubeError.is(error)) this.#report?.refused(error);
  }

  /** Of the wall: Events tell the time of day. */
  #wall(): number {
    return this.#clock.wall();
  }
}
