import type { KubeObject } from '../../api/objects.ts';
import type { Resource } from '../../api/resources.ts';
import { fullJitter, pause } from '../../runtime/backoff.ts';
import { type Clock, systemClock } from '../../runtime/clock.ts';
import type { KubeClient, Scope } from '../client.ts';
import { KubeError } from '../kube-error.ts';
import { backoffAfter } from '../retry-transient.ts';
import { abortReason } from '../wire/call-errors.ts';
import { ObjectCache } from './object-cache.ts';

/** What a Reflector tells. `key` is `namespace/name`, or `name` for kinds without namespaces. */
export type ReflectEvent<T> =
  | {
      readonly type: 'add' | 'change';
      readonly key: string;
      readonly value: T;
      readonly previous: T | undefined;
      /** Found by listing, not told by the watch. */
      readonly initial: boolean;
      readonly resourceVersion: string;
    }
  | {
      readonly type: 'remove';
      readonly key: string;
      readonly previous: T;
      /** Undefined where a listing missed the object: it was deleted some time before. */
      readonly resourceVersion: string | undefined;
    }
  /** Everything up to here has been told, also if that was nothing. */
  | { readonly type: 'bookmark'; readonly resourceVersion: string }
  /** After every listing. */
  | { readonly type: 'synced'; readonly resourceVersion: string }
  /** The kind may be listed but not watched: `refresh` keeps it up to date. */
  | { readonly type: 'unwatchable' }
  /** The kind does not exist or may not be listed; said once per reason, and tried again. */
  | { readonly type: 'unavailable'; readonly error: KubeError };

export interface ReflectOptions<T> {
  /**
   * What to keep of an object; its bytes are dropped afterwards. Undefined: not interesting, treated as absent.
   * `full` is false for the items of a light listing. `previous` is what is stored under the key.
   */
  readonly digest: (object: KubeObject, full: boolean, previous: T | undefined) => T | undefined;
  /** List metadata only, and watch whole objects. */
  readonly light?: boolean | undefined;
  readonly clock?: Clock | undefined;
  readonly random?: (() => number) | undefined;
  /** Told of every failure that is tried again, and the how manieth in a row it is. */
  readonly retrying?: ((error: KubeError, delayMs: number, failures: number) => void) | undefined;
  /** Told whenever the server has taken up a watch. */
  readonly watching?: (() => void) | undefined;
}

// client-go's reflector: 800 ms to 30 s. Ours starts lower, since jitter is full and a first failure is often the only.
const BACKOFF = { baseMs: 500, capMs: 30_000 };
// A watch that ends sooner than this has not worked, whatever it says: without it a broken proxy would make us spin.
const SHORT_WATCH_MS = 1000;
// A server that has just started, or whose authorizer is out of breath, refuses what it allows a moment later. Only what
// it refuses so often in a row is settled; up to then the waits are those of any failure, about 8 s together.
const MAX_REFUSALS = 6;
// How often a kind that must not be watched is tried again: somebody may have granted the right.
const WATCH_AGAIN_MS = 300_000;
// Lines of a watch that cannot be read: resumed so often, then everything is listed again.
const MAX_RESUMES = 3;

type Emit<T> = (event: ReflectEvent<T>) => void;

/**
 * Keeps a digest of every object of a kind, and tells what changed.
 *
 * Invariants
 *  1. `values` already holds what an event tells.
 *  2. Listing and watching take turns: there is never an event while a listing is under way.
 *  3. After `synced`, and after every event that follows, the state is one that the API server had.
 */
export class Reflector<T> {
  readonly #client: Pick<KubeClient, 'list' | 'watch'>;
  readonly #resource: Resource;
  readonly #scope: Scope;
  readonly #options: ReflectOptions<T>;
  readonly #clock: Clock;
  readonly #cache: ObjectCache<T>;
  /** From where a watch may go on; undefined: list first. */
  #position: string | undefined;
  #failures = 0;
  readonly #complained = new Set<string>();
  /** Watches that were forbidden, in a row. */
  #refusals = 0;
  #watchAgainAt = Number.NEGATIVE_INFINITY;
  #stopped: Error | undefined;
  /** Who waits for the next listing, and what to break so that it starts. */
  #asked: PromiseWithResolvers<void> | undefined;
  #interrupt: AbortController | undefined;

  constructor(
    client: Pick<KubeClient, 'list' | 'watch'>,
    resource: Resource,
    scope: Scope,
    options: ReflectOptions<T>,
  ) {
    this.#client = client;
    this.#resource = resource;
    this.#scope = scope;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#cache = new ObjectCache(options.digest);
  }

  /** Digests by `namespace/name` (`name` alone for kinds without namespaces). */
  get values(): ReadonlyMap<string, T> {
    return this.#cache.values;
  }

  /** False from the first time that a watch is forbidden until one works: then only `refresh` brings news. */
  get watchable(): boolean {
    return this.#refusals === 0;
  }

  /** Runs until aborted; rejects only if `digest` or `emit` throw. */
  async run(signal: AbortSignal, emit: (event: ReflectEvent<T>) => void): Promise<void> {
    try {
      while (!signal.aborted) await this.#turn(signal, emit);
    } finally {
      this.#stopped = abortReason(signal);
      this.#asked?.reject(this.#stopped);
    }
  }

  /**
   * Lists and tells what changed, now; calls made meanwhile share the listing that starts next. Rejects if that one
   * fails: it is tried again, but not for this caller.
   */
  refresh(): Promise<void> {
    if (this.#stopped) return Promise.reject(this.#stopped);
    if (!this.#asked) {
      this.#asked = Promise.withResolvers();
      // A caller who does not wait must not bring the process down.
      this.#asked.promise.catch(() => {});
      this.#interrupt?.abort(new Error('asked to list'));
    }
    return this.#asked.promise;
  }

  async #turn(signal: AbortSignal, emit: Emit<T>): Promise<void> {
    try {
      const idleMs = this.#watchAgainAt - this.#clock.now();
      if (this.#position === undefined || this.#asked) await this.#list(signal, emit);
      else if (idleMs > 0) await this.#wait(idleMs, signal);
      else await this.#watch(signal, emit);
    } catch (error) {
      if (signal.aborted) return;
      if (!KubeError.is(error)) throw error;
      await this.#recover(error, signal, emit);
    }
  }

  async #list(signal: AbortSignal, emit: Emit<T>): Promise<void> {
    const asked = this.#asked;
    this.#asked = undefined;
    const listing = this.#cache.beginListing(emit);
    try {
      const options = { metadataOnly: this.#options.light, signal };
      for await (const page of this.#client.list(this.#resource, this.#scope, options)) listing.page(page);
      this.#position = listing.complete();
    } catch (error) {
      listing.abandon();
      asked?.reject(error);
      throw error;
    }
    this.#failures = 0;
    // Who may list again may perhaps watch again, too.
    if (this.#complained.size > 0) this.#watchAgainAt = Number.NEGATIVE_INFINITY;
    this.#complained.clear();
    emit({ type: 'synced', resourceVersion: this.#position });
    asked?.resolve();
  }

  async #watch(signal: AbortSignal, emit: Emit<T>): Promise<void> {
    const start = this.#clock.now();
    let events = 0;
    const isShort = () => this.#clock.now() - start < SHORT_WATCH_MS;
    try {
      await this.#interruptible(signal, async (either) => {
        const opened = this.#options.watching;
        const from = this.#position ?? '';
        for await (const event of this.#client.watch(this.#resource, this.#scope, from, { signal: either, opened })) {
          this.#refusals = 0;
          this.#failures = 0;
          events += 1;
          this.#position = this.#cache.apply(event, emit);
        }
      });
    } catch (error) {
      // A quiet watch that was cut has worked: whatever failed before it makes nobody wait longer for the next.
      if (!isShort() && KubeError.is(error, 'Unreachable', 'Silent')) this.#failures = 0;
      throw error;
    }
    if (!isShort()) {
      this.#refusals = 0;
      this.#failures = 0;
    } else if (events === 0 && !this.#asked) {
      this.#failures += 1;
      await this.#wait(fullJitter(this.#failures, BACKOFF, this.#random), signal);
    }
  }

  /** Brings what failed into the state from which the next turn goes on, and waits as long as that needs. */
  async #recover(error: KubeError, signal: AbortSignal, emit: Emit<T>): Promise<void> {
    const forbidden = error.status === 403 || error.status === 405;
    if (error.verb === 'watch') {
      if (forbidden) return this.#refused(error, emit);
      if (this.#isLost(error)) this.#position = undefined;
    } else if (forbidden || error.status === 404) {
      this.#complain(error, emit);
      // It is not enough to wait for a watch that may be allowed again: what there is has to be seen first.
      this.#position = undefined;
    }
    this.#failures += 1;
    // The first time that a position is forgotten is ordinary life: nothing to wait for.
    if (error.status === 410 && this.#failures === 1) return;
    const delayMs = fullJitter(this.#failures, backoffAfter(error, BACKOFF), this.#random);
    this.#options.retrying?.(error, Math.max(delayMs, error.retryAfterMs ?? 0), this.#failures);
    // A time that the server named is kept even if somebody asks for a listing.
    if (error.retryAfterMs !== undefined) await pause(this.#clock, error.retryAfterMs, signal);
    await this.#wait(delayMs, signal);
  }

  /** Whether a watch that failed this way can only go on after a listing. */
  #isLost(error: KubeError): boolean {
    if (error.status === 410 || error.status === 404 || error.reason === 'TooLarge') return true;
    return error.reason === 'BadAnswer' && this.#failures >= MAX_RESUMES;
  }

  /** Sets when the next watch is tried; listings need not wait for that. */
  #refused(error: KubeError, emit: Emit<T>): void {
    this.#refusals += 1;
    const isSettled = this.#refusals >= MAX_REFUSALS;
    const delayMs = isSettled ? WATCH_AGAIN_MS : fullJitter(this.#refusals, BACKOFF, this.#random);
    this.#watchAgainAt = this.#clock.now() + delayMs;
    if (!isSettled) this.#options.retrying?.(error, delayMs, this.#refusals);
    else if (this.#refusals === MAX_REFUSALS) emit({ type: 'unwatchable' });
  }

  #complain(error: KubeError, emit: Emit<T>): void {
    if (this.#complained.has(error.reason)) return;
    this.#complained.add(error.reason);
    emit({ type: 'unavailable', error });
  }

  #wait(ms: number, signal: AbortSignal): Promise<void> {
    if (this.#asked || signal.aborted) return Promise.resolve();
    return this.#interruptible(signal, (either) => pause(this.#clock, ms, either));
  }

  /** Runs something that `refresh` may break off, which is not a failure. */
  async #interruptible(signal: AbortSignal, work: (either: AbortSignal) => Promise<void>): Promise<void> {
    const interrupt = new AbortController();
    const stop = () => interrupt.abort(abortReason(signal));
    signal.addEventListener('abort', stop, { once: true });
    this.#interrupt = interrupt;
    try {
      await work(interrupt.signal);
    } catch (error) {
      if (error !== interrupt.signal.reason) throw error;
    } finally {
      this.#interrupt = undefined;
      signal.removeEventListener('abort', stop);
    }
  }

  get #random(): () => number {
    return this.#options.random ?? Math.random;
  }
}
