import type { KubeObject } from '../api/objects.ts';
import { isSecret, PODS, type Resource } from '../api/resources.ts';
import type { Connection } from './auth/connection.ts';
import { type ServedKind, servedKinds } from './discovery.ts';
import type { Verb } from './kube-error.ts';
import { query, resourcePath } from './resource-path.ts';
import { type ListOptions, type ListPage, listPages } from './watch/listing.ts';
import { type WatchEvent, watchEvents } from './watch/watch.ts';
import { type Call, Transport, type TransportOptions } from './wire/transport.ts';

export interface ObjectRef {
  readonly namespace?: string | undefined;
  readonly name: string;
}

/** Which objects of a kind: all, those of a namespace, those that match a selector. */
export interface ListScope {
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
}

const PATCH_TYPES = {
  strategic: 'application/strategic-merge-patch+json',
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
  // Older servers have no JSON form of this media type; JSON is valid YAML.
  apply: 'application/apply-patch+yaml',
};

export interface ReadOptions {
  readonly subresource?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface WriteOptions extends ReadOptions {
  readonly fieldManager?: string | undefined;
  /** The server does everything except storing it. */
  readonly dryRun?: boolean | undefined;
}

export interface PatchOptions extends WriteOptions {
  readonly type: keyof typeof PATCH_TYPES;
  /** Server-side apply: takes over fields that others own. */
  readonly force?: boolean | undefined;
}

export interface WatchOptions {
  readonly signal: AbortSignal;
  /** Called when the server has accepted the watch. */
  readonly onOpen?: (() => void) | undefined;
}

export interface DeleteOptions {
  /** Delete only if the object still has this uid, or this version. */
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
  readonly propagation?: 'Background' | 'Foreground' | 'Orphan' | undefined;
}

// How long the server keeps a watch open: this long to twice as long, so that watches do not all end at once.
const WATCH_SECONDS = 300;
// Bookmarks come about once a minute. Where a server sends none, a quiet watch is opened again, which does no harm.
const WATCH_IDLE_MS = 90_000;

export interface ClientOptions extends TransportOptions {
  /** How long a watch may be silent before its connection counts as lost. */
  readonly watchIdleMs?: number | undefined;
}

/** The API server's operations, raw JSON in and out. Caches nothing, and retries nothing but a page of a listing that was put off. */
export class KubeClient {
  readonly #transport: Transport;
  readonly #watchIdleMs: number;

  constructor(connection: Connection, options: ClientOptions = {}) {
    this.#transport = new Transport(connection, options);
    this.#watchIdleMs = options.watchIdleMs ?? WATCH_IDLE_MS;
  }

  /** How many calls wait for their answer; watches do not count. */
  get inFlight(): number {
    return this.#transport.inFlight;
  }

  /** Milliseconds since the epoch by the server's clock; see ServerTime. */
  serverNow(): number {
    return this.#transport.serverTime.now();
  }

  /** The listener is called when the server answers again after an outage, with its length. */
  onRecovery(listener: (lastedMs: number) => void): void {
    this.#transport.outages.onOver(listener);
  }

  get<T = KubeObject>(resource: Resource, ref: ObjectRef, options: ReadOptions = {}): Promise<T> {
    return this.#transport.json(callOf('get', resource, ref, options));
  }

  /** As `get`, but the data of a Secret are bytes, which are overwritten after `use`. */
  async read<T = KubeObject>(
    resource: Resource,
    ref: ObjectRef,
    use: (object: T) => void,
    options: ReadOptions = {},
  ): Promise<void> {
    const call = { ...callOf('get', resource, ref, options), secret: isSecret(resource) };
    const { value, erase } = await this.#transport.answer<T>(call);
    try {
      use(value);
    } finally {
      erase();
    }
  }

  /**
   * Page by page, each as large as the memory allows. When the server has forgotten the position, the listing starts over with
   * a page that says `fresh`; when it puts off a page behind the first, that page is waited for. When the next page is asked
   * for, the items of this one are taken out, and the data of Secrets, which are bytes, are overwritten.
   */
  list<T = KubeObject>(
    resource: Resource,
    scope: ListScope,
    options: ListOptions = {},
  ): AsyncGenerator<ListPage<T>, void> {
    return listPages<T>(this.#transport, resource, scope, options);
  }

  create<T = KubeObject>(
    resource: Resource,
    namespace: string | undefined,
    body: unknown,
    options: WriteOptions = {},
  ): Promise<T> {
    return this.#transport.json(callOf('create', resource, { namespace }, { ...options, body }));
  }

  /** A `body` that is a string is sent as it is. */
  patch<T = KubeObject>(resource: Resource, ref: ObjectRef, body: unknown, options: PatchOptions): Promise<T> {
    const contentType = PATCH_TYPES[options.type];
    return this.#transport.json({ ...callOf('patch', resource, ref, { ...options, body }), contentType });
  }

  /** Fails with `Conflict` if the resourceVersion in `body` is no longer the newest. */
  replace<T = KubeObject>(resource: Resource, ref: ObjectRef, body: unknown, options: WriteOptions = {}): Promise<T> {
    return this.#transport.json(callOf('update', resource, ref, { ...options, body }));
  }

  async delete(resource: Resource, ref: ObjectRef, options: DeleteOptions = {}): Promise<void> {
    const { uid, resourceVersion, propagation } = options;
    const body = {
      kind: 'DeleteOptions',
      apiVersion: 'v1',
      ...((uid || resourceVersion) && { preconditions: { uid, resourceVersion } }),
      ...(propagation && { propagationPolicy: propagation }),
    };
    await this.#transport.json(callOf('delete', resource, ref, { body }));
  }

  /** Deletes a Pod, if it is the one with this uid and its disruption budget allows; `TooManyRequests` where it does not. */
  async evict(pod: ObjectRef, uid?: string): Promise<void> {
    const deleteOptions = uid === undefined ? undefined : { preconditions: { uid } };
    const body = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: pod, deleteOptions };
    await this.#transport.json(callOf('create', PODS, pod, { subresource: 'eviction', body }));
  }

  /** A token of the ServiceAccount, valid for about so many seconds (at least 600). */
  async requestToken(serviceAccount: ObjectRef, seconds: number): Promise<string> {
    const apiVersion = 'authentication.k8s.io/v1';
    const body = { apiVersion, kind: 'TokenRequest', spec: { expirationSeconds: seconds } };
    const call = callOf('create', SERVICE_ACCOUNTS, serviceAccount, { subresource: 'token', body });
    const { status } = await this.#transport.json<{ readonly status: { readonly token: string } }>(call);
    return status.token;
  }

  /**
   * The events after `resourceVersion`, until the server ends the watch; see {@link watchEvents}. The data of a Secret are
   * bytes, which are overwritten when the next event is asked for.
   */
  watch(
    resource: Resource,
    scope: ListScope,
    resourceVersion: string,
    { signal, onOpen }: WatchOptions,
  ): AsyncGenerator<WatchEvent, void> {
    const call: Call = {
      verb: 'watch',
      resource: resource.plural,
      path: resourcePath(resource, scope.namespace),
      query: query({
        watch: 1,
        allowWatchBookmarks: true,
        resourceVersion,
        timeoutSeconds: Math.round(WATCH_SECONDS * (1 + Math.random())),
        labelSelector: scope.labelSelector,
        fieldSelector: scope.fieldSelector,
      }),
      idleMs: this.#watchIdleMs,
      secret: isSecret(resource),
      signal,
    };
    return watchEvents(this.#transport, call, onOpen);
  }

  /** The kinds of a group in all its versions; none where the group does not exist. */
  discover(group: string): Promise<readonly ServedKind[]> {
    return servedKinds(this.#transport, group);
  }

  /** The OpenAPI document of a group, with the schema of each of its kinds as it is installed. */
  openApi(group: string, version: string): Promise<unknown> {
    return this.#transport.json({ verb: 'get', resource: 'openapi', path: `/openapi/v3/apis/${group}/${version}` });
  }

  close(): void {
    this.#transport.close();
  }
}

const SERVICE_ACCOUNTS: Resource = { ...PODS, plural: 'serviceaccounts', kind: 'ServiceAccount' };

function callOf(
  verb: Verb,
  resource: Resource,
  ref: Partial<ObjectRef>,
  options: Partial<PatchOptions> & { readonly body?: unknown } = {},
): Call {
  const { subresource, fieldManager, dryRun, force, body, signal } = options;
  return {
    verb,
    resource: resource.plural,
    path: resourcePath(resource, ref.namespace, ref.name, subresource),
    query: query({ fieldManager, dryRun: dryRun ? 'All' : undefined, force }),
    body: typeof body === 'string' || body === undefined ? body : JSON.stringify(body),
    signal,
  };
}
