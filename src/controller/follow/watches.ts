import type { Resource } from '../../api/resources.ts';
import type { ListScope } from '../../kube/client.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { isOutage } from '../../kube/outages.ts';
import { isTransient, retryTransient } from '../../kube/retry-transient.ts';
import { type ReflectEvent, type ReflectOptions, Reflector } from '../../kube/watch/reflector.ts';
import { pause } from '../../runtime/backoff.ts';
import type { ControllerDeps } from '../controller.ts';
import type { WatchReport } from '../report/watch-report.ts';
import type { Role } from './followed-kind.ts';
import type { Readiness } from './readiness.ts';

/** A kind that is followed, where, and what becomes of its events. */
export interface Subscription<T> extends Pick<ReflectOptions<T>, 'digest' | 'light'> {
  readonly resource: Resource;
  readonly role: Role;
  readonly scopes: readonly ListScope[];
  readonly onEvent: (event: ReflectEvent<T>, scope: ListScope) => void;
  /** Called once if the server does not serve the kind yet. */
  readonly isAbsent?: (() => void) | undefined;
}

export interface WatchDeps extends Pick<ControllerDeps, 'client' | 'clock'> {
  readonly signal: AbortSignal;
  readonly readiness: Pick<Readiness, 'follows'>;
  readonly report: Pick<WatchReport, 'waitingForServer' | 'unwatchable' | 'unavailable' | 'retrying'>;
}

// Watches break all the time; what has failed so often in a row has lasted about eight seconds.
const LASTING_FAILURES = 6;
// How often we ask for a kind that the server does not serve: one small request, and only while one is missing.
const LOOK_AGAIN_MS = 10_000;

/** The reflectors of this process: started once, and each has listed its kind, or cannot, before anything is decided. */
export class Watches {
  readonly #deps: WatchDeps;
  readonly #reflectors: { readonly resource: Resource; readonly reflector: Reflector<unknown> }[] = [];
  readonly #first: Promise<void>[] = [];
  readonly #running: Promise<void>[] = [];

  constructor(deps: WatchDeps) {
    this.#deps = deps;
  }

  /** Every kind has been listed once, or cannot be. */
  async synced(): Promise<void> {
    // What one shows may be the reason to follow another.
    for (let waited = -1; waited < this.#first.length; ) {
      waited = this.#first.length;
      await Promise.all(this.#first);
    }
  }

  /** All have ended, after the signal. */
  async ended(): Promise<void> {
    await Promise.all(this.#running);
  }

  follow<T>(subscription: Subscription<T>): void {
    for (const scope of subscription.scopes) this.#start(subscription, scope);
  }

  /** Follows a kind that may not exist: as soon as the server serves it, without a restart. */
  async followOnceServed<T>(subscription: Subscription<T>): Promise<void> {
    const { clock, signal } = this.#deps;
    if (await this.#isServed(subscription.resource)) return this.follow(subscription);
    subscription.isAbsent?.();
    const waiting = async (): Promise<void> => {
      do await pause(clock, LOOK_AGAIN_MS, signal);
      while (!signal.aborted && !(await this.#isServed(subscription.resource)));
      if (!signal.aborted) this.follow(subscription);
    };
    this.#running.push(waiting());
  }

  /** Kinds that may be listed but not watched are listed when a change arrives, or before a write. */
  async refresh(plural?: string): Promise<void> {
    const stale = this.#reflectors.filter(
      ({ resource, reflector }) => !reflector.watchable && (plural === undefined || resource.plural === plural),
    );
    await Promise.allSettled(stale.map(({ reflector }) => reflector.refresh()));
  }

  #start<T>({ resource, role, digest, light, onEvent }: Subscription<T>, scope: ListScope): void {
    const { client, clock, signal, report, readiness } = this.#deps;
    const followed = readiness.follows(role, resource, scope);
    const reflector = new Reflector<T>(client, resource, scope, {
      digest,
      light,
      clock,
      retrying(error, delayMs, failures) {
        report.retrying(resource, error, delayMs);
        if (failures >= LASTING_FAILURES && isOutage(error) && error.status !== 401) report.waitingForServer(error);
        followed.failing(error, failures);
      },
      watching: () => followed.watching(),
    });
    const unwatchable = (): void => {
      followed.unwatchable();
      // Or it may not be listed any more either, and then that is said.
      reflector.refresh().then(
        () => report.unwatchable(resource),
        (error: unknown) => KubeError.is(error) && isTransient(error) && report.unwatchable(resource),
      );
    };
    this.#reflectors.push({ resource, reflector: reflector as Reflector<unknown> });
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#first.push(promise);
    const running = reflector.run(signal, (event) => {
      onEvent(event, scope);
      if (event.type === 'unwatchable') unwatchable();
      if (event.type === 'unavailable') {
        report.unavailable(resource, scope, event.error);
        followed.unavailable(event.error);
      }
      if (event.type === 'synced') followed.listed();
      if (event.type === 'synced' || event.type === 'unavailable') resolve();
    });
    this.#running.push(running.finally(resolve));
  }

  async #isServed({ group, version, plural }: Resource): Promise<boolean> {
    try {
      // An error does not mean that the kind is absent: what is there has to be listed before anything is decided.
      const { client, report } = this.#deps;
      const retrying = (error: KubeError): void => report.waitingForServer(error);
      const kinds = await retryTransient(() => client.discover(group), { ...this.#deps, retrying });
      return kinds.some((kind) => kind.version === version && kind.plural === plural);
    } catch (error) {
      if (!KubeError.is(error)) throw error;
      return false;
    }
  }
}
