import type { Resource } from '../../api/resources.ts';
import type { KubeClient, ListScope } from '../../kube/client.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { isOutage } from '../../kube/outages.ts';
import { isTransient, retryTransient } from '../../kube/retry-transient.ts';
import { type ReflectEvent, type ReflectOptions, Reflector } from '../../kube/watch/reflector.ts';
import { pause } from '../../runtime/backoff.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Access } from './access.ts';

export interface WatchDeps {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly access: Pick<Access, 'follows'>;
  readonly report: {
    waitingForServer(error: KubeError): void;
    unwatchable(resource: Resource): void;
    unavailable(resource: Resource, scope: ListScope, error: Error): void;
    retrying(resource: Resource, error: KubeError, delayMs: number): void;
  };
}

// A watch that breaks is ordinary life; what has failed so often in a row has lasted about eight seconds.
const LASTING_FAILURES = 6;
// How often a kind that the server does not serve is looked for. One small request, and only while one is missing.
const LOOK_AGAIN_MS = 10_000;

/** The reflectors of this process: started once, each synced or excused before anything is decided. */
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
    await Promise.all(this.#first);
  }

  /** All have ended, after the signal. */
  async ended(): Promise<void> {
    await Promise.all(this.#running);
  }

  follow<T>(
    resource: Resource,
    scopes: readonly ListScope[],
    options: Pick<ReflectOptions<T>, 'digest' | 'light'>,
    tell: (event: ReflectEvent<T>, scope: ListScope) => void,
  ): void {
    for (const scope of scopes) this.#start(resource, scope, options, tell);
  }

  /** Follows a kind that may not exist: as soon as the server serves it, without a restart. */
  async followOnceServed<T>(
    resource: Resource,
    scopes: readonly ListScope[],
    options: Pick<ReflectOptions<T>, 'digest' | 'light'>,
    tell: (event: ReflectEvent<T>, scope: ListScope) => void,
  ): Promise<void> {
    if (await this.#isServed(resource)) {
      this.follow(resource, scopes, options, tell);
      return;
    }
    this.#running.push(
      (async () => {
        do await pause(this.#deps.clock, LOOK_AGAIN_MS, this.#deps.signal).catch(() => {});
        while (!this.#deps.signal.aborted && !(await this.#isServed(resource)));
        if (!this.#deps.signal.aborted) this.follow(resource, scopes, options, tell);
      })(),
    );
  }

  /** Kinds that may be listed but not watched are listed when a change arrives, or before a write. */
  async refresh(plural?: string): Promise<void> {
    const stale = this.#reflectors.filter(
      ({ resource, reflector }) => !reflector.watchable && (plural === undefined || resource.plural === plural),
    );
    await Promise.allSettled(stale.map(({ reflector }) => reflector.refresh()));
  }

  #start<T>(
    resource: Resource,
    scope: ListScope,
    options: Pick<ReflectOptions<T>, 'digest' | 'light'>,
    tell: (event: ReflectEvent<T>, scope: ListScope) => void,
  ): void {
    const { client, clock, signal, report } = this.#deps;
    const followed = this.#deps.access.follows(resource, scope);
    const reflector = new Reflector<T>(client, resource, scope, {
      ...options,
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
    this.#running.push(
      reflector
        .run(signal, (event) => {
          tell(event, scope);
          if (event.type === 'unwatchable') unwatchable();
          if (event.type === 'unavailable') report.unavailable(resource, scope, event.error);
          if (event.type === 'unavailable') followed.unavailable(event.error);
          if (event.type === 'synced') followed.listed();
          if (event.type === 'synced' || event.type === 'unavailable') resolve();
        })
        .finally(resolve),
    );
  }

  async #isServed({ group, version, plural }: Resource): Promise<boolean> {
    try {
      // Not knowing is not the same as not being there: what is there has to be listed before anything is decided.
      const { client, clock, signal, report } = this.#deps;
      const retrying = (error: KubeError): void => report.waitingForServer(error);
      const kinds = await retryTransient(() => client.discover(group), { clock, signal, retrying });
      return kinds.some((kind) => kind.version === version && kind.plural === plural);
    } catch (error) {
      if (!KubeError.is(error)) throw error;
      return false;
    }
  }
}
