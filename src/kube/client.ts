import type { KubeObject } from '../api/objects.ts';
import { isSecret, type Resource } from '../api/resources.ts';
import type { Connection } from './auth/connection.ts';
import { type ServedKind, servedKinds } from './discovery.ts';
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

export type PatchType = 'strategic' | 'merge' | 'json' | 'apply';

const PATCH_TYPES: Readonly<Record<PatchType, string>> = {
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
  readonly type: PatchType;
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
  readonly signal?: AbortSignal | undefined;
}

// How long the server keeps a watch open: this long to twice as long, so that watches do not all end at once.
const WATCH_SECONDS = 300;
// Bookmarks come about once a minute. Where a server sends none, a quiet watch is opened again, which does no harm.
const WATCH_IDLE_MS = 90_000;

export interface ClientOptions extends TransportOptions {
  /** How long a watch may be silent before its connection counts as lost. */
  readonly watchIdleMs?: number | undefined;
}

/** The API server's operations, raw JSON in and out. Caches nothing and retries nothing. */
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
    return this.#transport.serverNow();
  }

  /** The listener is called when the server answers again after an outage, with its length. */
  onRecovery(listener: (lastedMs: number) => void): void {
    this.#transport.outages.onOver(listener);
  }

  get<T = KubeObject>(resource: Resource, ref: ObjectRef, options: ReadOptions = {}): Promise<T> {
    return this.#transport.json({
      verb: 'get',
      resource: resource.plural,
      path: resourcePath(resource, ref.namespace, ref.name, options.subresource),
      signal: options.signal,
    });
  }

  /** As `get`, but the data of a Secret are bytes, which are overwritten after `use`. */
  async read<T = KubeObject>(resource: Resource, ref: ObjectRef, use: (object: T) => void): Promise<void> {
    const { value, erase } = await this.#transport.erasable<T>({
      verb: 'get',
      resource: resource.plural,
      path: resourcePath(resource, ref.namespace, ref.name),
      secret: isSecret(resource),
    });
    try {
      use(value);
    } finally {
      erase();
    }
  }

  /**
   * Page by page. When the server has forgotten the position, the listing starts over with a page that says `fresh`. The
   * data of Secrets are bytes, which are overwritten when the next page is asked for.
   */
  list<T = KubeObject>(
    resource: Resource,
    scope: ListScope,
    options: ListOptions = {},
  ): AsyncGenerator<ListPage<T>, void> {
    return listPages<T>(this.#transport, { resource, scope }, options);
  }

  create<T = KubeObject>(
    resource: Resource,
    namespace: string | undefined,
    body: unknown,
    options: WriteOptions = {},
  ): Promise<T> {
    return this.#transport.json({
      verb: 'create',
      resource: resource.plural,
      path: resourcePath(resource, namespace),
      query: writeQuery(options),
      body: text(body),
      signal: options.signal,
    });
  }

  /** A `body` that is a string is sent as it is. */
  patch<T = KubeObject>(resource: Resource, ref: ObjectRef, body: unknown, options: PatchOptions): Promise<T> {
    return this.#transport.json({
      verb: 'patch',
      resource: resource.plural,
      path: resourcePath(resource, ref.namespace, ref.name, options.subresource),
      query: writeQuery(options),
      contentType: PATCH_TYPES[options.type],
      body: text(body),
      signal: options.signal,
    });
  }

  /** Fails with `Conflict` if the resourceVersion in `body` is no longer the newest. */
  replace<T = KubeObject>(resource: Resource, ref: ObjectRef, body: unknown, options: WriteOptions = {}): Promise<T> {
    return this.#transport.json({
      verb: 'update',
      resource: resource.plural,
      path: resourcePath(resource, ref.namespace, ref.name, options.subresource),
      query: writeQuery(options),
      body: text(body),
      signal: options.signal,
    });
  }

  async delete(resource: Resource, ref: ObjectRef, options: DeleteOptions = {}): Promise<void> {
    const { uid, resourceVersion, propagation } = options;
    await this.#transport.json({
      verb: 'delete',
      resource: resource.plural,
      path: resourcePath(resource, ref.namespace, ref.name),
      body: JSON.stringify({
        kind: 'DeleteOptions',
        apiVersion: 'v1',
        ...((uid || resourceVersion) && { preconditions: { uid, resourceVersion } }),
        ...(propagation && { propagationPolicy: propagation }),
      }),
      signal: options.signal,
    });
  }

  /** Deletes a Pod if its disruption budget allows; `TooManyRequests` where it does not. */
  async evict(pod: ObjectRef, options: { readonly signal?: AbortSignal } = {}): Promise<void> {
    await this.#transport.json({
      verb: 'create',
      resource: 'pods',
      path: `${resourcePath(PODS, pod.namespace, pod.name)}/eviction`,
      body: JSON.stringify({ apiVersion: 'policy/v1', kind: 'Eviction', metadata: pod }),
      signal: options.signal,
    });
  }

  /** A token of the ServiceAccount, valid for about so many seconds (at least 600). */
  async requestToken(serviceAccount: ObjectRef, seconds: number): Promise<string> {
    const apiVersion = 'authentication.k8s.io/v1';
    const { status } = await this.#transport.json<{ readonly status: { readonly token: string } }>({
      verb: 'create',
      resource: 'serviceaccounts',
      path: `${resourcePath(SERVICE_ACCOUNTS, serviceAccount.namespace, serviceAccount.name)}/token`,
      body: JSON.stringify({ apiVersion, kind: 'TokenRequest', spec: { expirationSeconds: seconds } }),
    });
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

  close(): void {
    this.#transport.close();
  }
}

const PODS: Resource = { group: '', version: 'v1', plural: 'pods', kind: 'Pod', namespaced: true };
const SERVICE_ACCOUNTS: Resource = { ...PODS, plural: 'serviceaccounts', kind: 'ServiceAccount' };

function writeQuery(options: WriteOptions & { readonly force?: boolean | undefined }): string {
  return query({
    fieldManager: options.fieldManager,
    dryRun: options.dryRun ? 'All' : undefined,
    force: options.force,
  });
}

function text(body: unknown): string {
  return typeof body === 'string' ? body : JSON.stringify(body);
}
