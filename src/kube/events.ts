import { randomBytes } from 'node:crypto';
import { EVENTS } from '../api/resources.ts';
import { pause } from '../runtime/backoff.ts';
import { type Clock, systemClock } from '../runtime/clock.ts';
import type { KubeClient } from './client.ts';
import { KubeError } from './kube-error.ts';

/** What happened to an object, for `kubectl describe`. */
export interface EventPost {
  readonly regarding: {
    readonly apiVersion: string;
    readonly kind: string;
    readonly namespace?: string | undefined;
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion?: string | undefined;
  };
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  readonly component: string;
  readonly fieldManager?: string | undefined;
}

export interface EventSinkOptions {
  readonly client: Pick<KubeClient, 'create' | 'patch' | 'inFlight'>;
  readonly clock?: Clock | undefined;
  /** Most Events that wait; more are dropped. */
  readonly capacity?: number | undefined;
}

export interface EventCounts {
  readonly sent: number;
  /** Over the capacity, or one object too talkative. */
  readonly dropped: number;
  readonly failed: number;
}

// client-go's correlator: Events that repeat within ten minutes are counted up, and an object may cause 25 at once and
// one more every five minutes.
const REPEAT_WINDOW_MS = 600_000;
const BURST = 25;
const REFILL_MS = 300_000;
const MAX_REMEMBERED = 4096;
// Whoever posts has often just written one of many: a moment lets the next ones begin. No more than that, because to wake
// up for an Event alone costs as much as to send it.
const MOMENT_MS = 1;
// How long Events let other calls go first, and how often they look.
const YIELD_MS = 1000;
const LOOK_MS = 20;
const MAX_MESSAGE = 1024;
const MAX_NAME = 253;

interface Sent {
  readonly name: string;
  readonly lastAt: number;
  readonly count: number;
}

/**
 * Creates Events one by one, behind everything else that the client does; never throws, never blocks its caller.
 *
 * Invariants
 *  1. An Event that repeats within ten minutes is the same Event with a higher count.
 *  2. No object can flood the others: each has its own allowance.
 *  3. Memory is bounded, whatever is posted.
 */
export class EventSink {
  readonly #client: EventSinkOptions['client'];
  readonly #clock: Clock;
  readonly #capacity: number;
  readonly #queue: EventPost[] = [];
  readonly #sent = new Map<string, Sent>();
  readonly #allowances = new Map<string, { readonly left: number; readonly at: number }>();
  readonly #stop = new AbortController();
  readonly #counts = { sent: 0, dropped: 0, failed: 0 };
  #sending: Promise<void> | undefined;
  #closed = false;

  constructor(options: EventSinkOptions) {
    this.#client = options.client;
    this.#clock = options.clock ?? systemClock;
    this.#capacity = options.capacity ?? 1000;
  }

  get counts(): EventCounts {
    return this.#counts;
  }

  post(event: EventPost): void {
    if (this.#closed || this.#queue.length >= this.#capacity || !this.#isAllowed(event)) {
      this.#counts.dropped += 1;
      return;
    }
    this.#queue.push(event);
    this.#sending ??= this.#sendAll();
  }

  /** Accepts nothing more, and sends what waits as long as the deadline allows. */
  async close(deadlineMs: number): Promise<void> {
    this.#closed = true;
    const cancel = this.#clock.after(deadlineMs, () => this.#stop.abort(new Error('no time left for Events')));
    await this.#sending;
    cancel();
  }

  async #sendAll(): Promise<void> {
    await pause(this.#clock, MOMENT_MS, this.#stop.signal);
    while (this.#queue.length > 0) {
      await this.#letOthersGo();
      if (this.#stop.signal.aborted) break;
      const event = this.#queue.shift();
      if (event) await this.#send(event);
    }
    this.#counts.dropped += this.#queue.splice(0).length;
    this.#sending = undefined;
  }

  async #letOthersGo(): Promise<void> {
    const until = this.#clock.now() + YIELD_MS;
    while (this.#client.inFlight > 0 && this.#clock.now() < until && !this.#stop.signal.aborted) {
      await pause(this.#clock, LOOK_MS, this.#stop.signal);
    }
  }

  async #send(event: EventPost): Promise<void> {
    try {
      if (!(await this.#countUp(event))) await this.#create(event);
      this.#counts.sent += 1;
    } catch (error) {
      this.#counts.failed += 1;
      const waitMs = KubeError.is(error) ? (error.retryAfterMs ?? 0) : 0;
      await pause(this.#clock, waitMs, this.#stop.signal);
    }
  }

  /** False: it is no repetition, or the Event to count up is gone. */
  async #countUp(event: EventPost): Promise<boolean> {
    const { regarding, fieldManager } = event;
    const key = repetitionKey(event);
    const last = this.#sent.get(key);
    const now = this.#clock.now();
    if (!last || now - last.lastAt > REPEAT_WINDOW_MS) return false;
    const count = last.count + 1;
    const body = { count, lastTimestamp: seconds(this.#clock.wall()) };
    try {
      const ref = { namespace: eventNamespace(regarding.namespace), name: last.name };
      await this.#client.patch(EVENTS, ref, body, { type: 'merge', fieldManager, signal: this.#stop.signal });
    } catch (error) {
      if (KubeError.is(error, 'NotFound', 'Forbidden')) return false;
      throw error;
    }
    remember(this.#sent, key, { ...last, lastAt: now, count });
    return true;
  }

  async #create(event: EventPost): Promise<void> {
    const { regarding, fieldManager } = event;
    const now = this.#clock.now();
    const shown = seconds(this.#clock.wall());
    const namespace = eventNamespace(regarding.namespace);
    const suffix = `.${randomBytes(8).toString('hex')}`;
    const name = `${regarding.name.slice(0, MAX_NAME - suffix.length)}${suffix}`;
    const body = {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { namespace, name },
      involvedObject: regarding,
      type: event.type,
      reason: event.reason,
      message: event.message.length > MAX_MESSAGE ? `${event.message.slice(0, MAX_MESSAGE - 1)}…` : event.message,
      source: { component: event.component },
      reportingComponent: event.component,
      firstTimestamp: shown,
      lastTimestamp: shown,
      count: 1,
    };
    await this.#client.create(EVENTS, namespace, body, { fieldManager, signal: this.#stop.signal });
    remember(this.#sent, repetitionKey(event), { name, lastAt: now, count: 1 });
  }

  #isAllowed({ regarding, component }: EventPost): boolean {
    const key = `${component}/${regarding.uid}`;
    const now = this.#clock.now();
    const last = this.#allowances.get(key) ?? { left: BURST, at: now };
    const left = Math.min(BURST, last.left + (now - last.at) / REFILL_MS);
    remember(this.#allowances, key, { left: left >= 1 ? left - 1 : left, at: now });
    return left >= 1;
  }
}

/** Sets an entry as the newest, and forgets the oldest where there are too many. */
function remember<V>(map: Map<string, V>, key: string, value: V): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= MAX_REMEMBERED) return;
  const [oldest] = map.keys();
  if (oldest !== undefined) map.delete(oldest);
}

function repetitionKey({ regarding, type, reason, message, component }: EventPost): string {
  return JSON.stringify([regarding.uid, type, reason, message, component]);
}

/** Events of objects without a namespace live in `default`, as client-go has it. */
function eventNamespace(namespace: string | undefined): string {
  return namespace || 'default';
}

function seconds(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
}
