import type { KubeObject } from '../../api/objects.ts';
import type { Resource } from '../../api/resources.ts';
import { fullJitter, pause } from '../../runtime/backoff.ts';
import { type Clock, systemClock } from '../../runtime/clock.ts';
import type { KubeClient, ListScope } from '../client.ts';
import { KubeError } from '../kube-error.ts';
import { backoffAfter } from '../retry-transient.ts';
import { abortReason } from '../wire/call-errors.ts';
import { ObjectCache } from './object-cache.ts';

/** `key` is `namespace/name`, or `name` for kinds without namespaces. */
export type ReflectEvent<T> =
  | {
      readonly type: 'add' | 'change';
      readonly key: string;
      readonly value: T;
      readonly previous: T | undefined;
      /** From a listing, not from the watch. */
      readonly initial: boolean;
      readonly resourceVersion: string;
    }
  | {
      readonly type: 'remove';
      readonly key: string;
      readonly previous: T;
      /** Undefined if a listing no longer had the object: then it was deleted at some time before. */
      readonly resourceVersion: string | undefined;
      /** The version of that listing. */
      readonly goneBy?: string;
    }
  /** All events up to this version have been emitted. */
  | { readonly type: 'bookmark'; readonly resourceVersion: string }
  /** After every listing. */
  | { readonly type: 'synced'; readonly resourceVersion: string }
  /** The kind may be listed but not watched: only `refresh` brings changes. */
  | { readonly type: 'unwatchable' }
  /** The kind does not exist, may not be listed, or is too large to be. Emitted once per reason, and retried. */
  | { readonly type: 'unavailable'; readonly error: KubeError };

export interface ReflectOptions<T> {
  /**
   * What to keep of an object; undefined: nothing, as if it did not exist. `full` is false for an object of which only the
   * metadata was listed. `previous` is what is stored under the key.
   */
  readonly digest: (object: KubeObject, full: boolean, previous: T | undefined) => T | undefined;
  /** List metadata only, but watch whole objects. */
  readonly light?: boolean | undefined;
  readonly clock?: Clock | undefined;
  readonly random?: (() => number) | undefined;
  /** Called for every failure that is retried; `failures` counts those in a row. */
  readonly retrying?: ((error: KubeError, delayMs: number, failures: number) => void) | undefined;
  /** Called whenever the server has accepted a watch. */
  readonly watching?: (() => void) | undefined;
}

// client-go: 800 ms to 30 s. Ours starts lower, because a first failure is often the only one.
const BACKOFF = { baseMs: 500, capMs: 30_000 };
// What is too large to be listed stays so until somebody changes it, and each try loads the server.
const TOO_LARGE_BACKOFF = { baseMs: 5000, capMs: 300_000 };
// A watch that ends sooner than this, without an event, counts as failed: else a broken proxy would make us spin.
const SHORT_WATCH_MS = 1000;
// A server that has just started, or whose authorizer is overloaded, forbids what it allows a moment later. A watch counts
// as forbidden only after so many refusals in a row, about 8 s.
const MAX_REFUSALS = 6;
// How often a forbidden watch is tried again: somebody may have granted the right.
const WATCH_AGAIN_MS = 300_000;
// After so many unreadable lines in a row the watch is not resumed: everything is listed again.
const MAX_RESUMES = 3;

export type Emit<T> = (event: ReflectEvent<T>) => void;

/**
 * Keeps a digest of every object of a kind, and emits what changes.
 *
 * Invariants
 *  1. When an event is emitted, `values` already has it.
 *  2. Listing and watching alternate: no event of a watch arrives during a listing.
 *  3. After `synced`, and after every event that follows, the state is one that the API server had.
 */
export class Reflector<T> {
  readonly #client: Pick<KubeClient, 'list' | 'watch'>;
  readonly #resource: Resource;
  readonly #scope: ListScope;
  readonly #options: ReflectOptions<T>;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #cache: ObjectCache<T>;
  /** The version from which a watch may continue; undefined: list first. */
  #position: string | undefined;
  #failures = 0;
  /** How many listings watches have asked for since the last one that worked. */
  #vainListings = 0;
  /** Reasons for which `unavailable` was emitted. */
  readonly #unavailableFor = new Set<string>();
  /** How many watches in a row were forbidden. */
  #refusals = 0;
  #watchAgainAt = Number.NEGATIVE_INFINITY;
  #stopped: Error | undefined;
  /** Set by `refresh`: settled by the next listing. */
  #refresh: PromiseWithResolvers<void> | undefined;
  /** Ends the present watch or wait, so that the listing starts. */
  #interrupt: AbortController | undefined;

  constructor(
    client: Pick<KubeClient, 'list' | 'watch'>,
    resource: Resource,
    scope: ListScope,
    options: ReflectOptions<T>,
  ) {
    this.#client = client;
    this.#resource = resource;
    this.#scope = scope;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
    this.#cache = new ObjectCache(options.digest);
  }

  /** Digests by `namespace/name` (`name` alone for kinds without namespaces). */
  get values(): ReadonlyMap<string, T> {
    return this.#cache.values;
  }

  /** False from the first forbidden watch until one works: meanwhile only `refresh` brings changes. */
  get watchable(): boolean {
    return this.#refusals === 0;
  }

  /** Runs until aborted; rejects only if `digest` or `emit` throw. */
  async run(signal: AbortSignal, emit: Emit<T>): Promise<void> {
    try {
      while (!signal.aborted) await this.#step(signal, emit);
    } finally {
      this.#stopped = abortReason(signal);
      this.#refresh?.reject(this.#stopped);
    }
  }

  /**
   * Lists now, and emits what changed; calls made meanwhile share the listing that starts next. Rejects if that one fails:
   * it is retried, but not for this caller.
   */
  refresh(): Promise<void> {
    if (this.#stopped) return Promise.reject(this.#stopped);
    if (!this.#refresh) {
      this.#refresh = Promise.withResolvers();
      // A caller who does not wait for it must not cause an unhandled rejection.
      this.#refresh.promise.catch(() => {});
      this.#interrupt?.abort(new Error('asked to list'));
    }
    return this.#refresh.promise;
  }

  async #step(signal: AbortSignal, emit: Emit<T>): Promise<void> {
    try {
      const idleMs = this.#watchAgainAt - this.#clock.now();
      if (this.#position === undefined || this.#refresh) await this.#list(signal, emit);
      else if (idleMs > 0) await this.#wait(idleMs, signal);
      else await this.#watch(signal, emit);
    } catch (error) {
      if (signal.aborted) return;
      if (!KubeError.is(error)) throw error;
      await this.#recover(error, signal, emit);
    }
  }

  async #list(signal: AbortSignal, emit: Emit<T>): Promise<void> {
    const refresh = this.#refresh;
    this.#refresh = undefined;
    const listing = this.#cache.beginListing(emit);
    try {
      const { light: metadataOnly, retrying } = this.#options;
      const options = { metadataOnly, signal, retrying };
      for await (const page of this.#client.list(this.#resource, this.#scope, options)) listing.page(page);
      this.#position = listing.complete();
    } catch (error) {
      listing.abandon();
      refresh?.reject(error);
      throw error;
    }
    this.#failures = 0;
    // Whoever granted the right to list may have granted the right to watch, too.
    if (this.#unavailableFor.size > 0) this.#watchAgainAt = Number.NEGATIVE_INFINITY;
    this.#unavailableFor.clear();
    emit({ type: 'synced', resourceVersion: this.#position });
    refresh?.resolve();
  }

  async #watch(signal: AbortSignal, emit: Emit<T>): Promise<void> {
    const start = this.#clock.now();
    let events = 0;
    let isOpen = false;
    const onOpen = () => {
      isOpen = true;
      this.#options.watching?.();
    };
    const isShort = () => this.#clock.now() - start < SHORT_WATCH_MS;
    try {
      await this.#interruptible(signal, async (either) => {
        const from = this.#position ?? '';
        for await (const event of this.#client.watch(this.#resource, this.#scope, from, { signal: either, onOpen })) {
          this.#refusals = 0;
          this.#forgetFailures();
          events += 1;
          this.#position = this.#cache.apply(event, emit);
        }
      });
    } catch (error) {
      // A watch that broke after a quiet time has worked: failures before it count no more. A late refusal is still one.
      if (!isShort() && (isOpen || KubeError.is(error, 'Unreachable', 'Silent'))) this.#forgetFailures();
      throw error;
    }
    if (!isShort()) {
      this.#refusals = 0;
      this.#forgetFailures();
    } else if (events === 0 && !this.#refresh) {
      this.#failures += 1;
      await this.#wait(fullJitter(this.#failures, BACKOFF, this.#random), signal);
    }
  }

  #forgetFailures(): void {
    this.#failures = 0;
    this.#vainListings = 0;
  }

  /** Decides how the next step continues after a failure, and waits as long as that needs. */
  async #recover(error: KubeError, signal: AbortSignal, emit: Emit<T>): Promise<void> {
    if (error.verb === 'watch') {
      if (isForbidden(error)) return this.#watchForbidden(error, emit);
      if (this.#needsListing(error)) {
        this.#position = undefined;
        this.#vainListings += 1;
        // That the server forgets a position is normal: no wait, unless it is that of the listing it has just sent.
        if (error.status === 410 && this.#vainListings === 1) return;
      }
    } else if (isForbidden(error) || isTooLarge(error) || error.status === 404) this.#unavailable(error, emit);
    // A listing that leads to no watch is no success, or a kind would be listed without end.
    this.#failures = Math.max(this.#failures + 1, this.#vainListings);
    const limits = isTooLarge(error) ? TOO_LARGE_BACKOFF : backoffAfter(error, BACKOFF);
    const delayMs = fullJitter(this.#failures, limits, this.#random);
    this.#options.retrying?.(error, Math.max(delayMs, error.retryAfterMs ?? 0), this.#failures);
    // `refresh` does not shorten a time that the server named.
    if (error.retryAfterMs !== undefined) await pause(this.#clock, error.retryAfterMs, signal);
    await this.#wait(delayMs, signal);
  }

  /** Whether a watch that failed this way can only continue after a listing. */
  #needsListing(error: KubeError): boolean {
    if (error.status === 410 || error.status === 404 || error.reason === 'TooLarge') return true;
    return error.reason === 'BadAnswer' && this.#failures >= MAX_RESUMES;
  }

  #unavailable(error: KubeError, emit: Emit<T>): void {
    if (!this.#unavailableFor.has(error.reason)) emit({ type: 'unavailable', error });
    this.#unavailableFor.add(error.reason);
    // When the right comes back, what exists by then has to be listed before a watch.
    this.#position = undefined;
  }

  /** Sets when the next watch is tried; listings do not wait for that. */
  #watchForbidden(error: KubeError, emit: Emit<T>): void {
    this.#refusals += 1;
    const isSettled = this.#refusals >= MAX_REFUSALS;
    const delayMs = isSettled ? WATCH_AGAIN_MS : fullJitter(this.#refusals, BACKOFF, this.#random);
    this.#watchAgainAt = this.#clock.now() + delayMs;
    if (!isSettled) this.#options.retrying?.(error, delayMs, this.#refusals);
    else if (this.#refusals === MAX_REFUSALS) emit({ type: 'unwatchable' });
  }

  #wait(ms: number, signal: AbortSignal): Promise<void> {
    if (this.#refresh || signal.aborted) return Promise.resolve();
    return this.#interruptible(signal, (either) => pause(this.#clock, ms, either));
  }

  /** Runs something that `refresh` may interrupt, which is not a failure. */
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
}

const isForbidden = ({ status }: KubeError): boolean => status === 403 || status === 405;

/** One object was asked for, and the answer was over our limit. */
const isTooLarge = ({ verb, reason }: KubeError): boolean => verb === 'list' && reason === 'TooLarge';
