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

/** Which objects of a kind: all, or those of a namespace, or those that match. */
export interface Scope {
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
}

export type PatchType = 'strategic' | 'merge' | 'json' | 'apply';

const PATCH_TYPES: Readonly<Record<PatchType, string>> = {
  strategic: 'application/strategic-merge-patch+json',
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
  // JSON is YAML; the media type has no JSON twin on every supported server.
  apply: 'application/apply-patch+yaml',
};

export interface ReadOptions {
  readonly subresource?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface WriteOptions extends ReadOptions {
  readonly fieldManager?: string | undefined;
  /** The server does everything but store it. */
  readonly dryRun?: boolean | undefined;
}

export interface PatchOptions extends WriteOptions {
  readonly type: PatchType;
  /** Server-side apply: take over fields that others own. */
  readonly force?: boolean | undefined;
}

export interface WatchOptions {
  readonly signal: AbortSignal;
  /** Called when the server has taken it up. */
  readonly opened?: (() => void) | undefined;
}

export interface DeleteOptions {
  /** Delete only if it is still this object, or still this version of it. */
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
  readonly propagation?: 'Background' | 'Foreground' | 'Orphan' | undefined;
  readonly signal?: AbortSignal | undefined;
}

// The server ends a watch after this time, by its own clock. Spread, so that watches do not all return at once.
const WATCH_SECONDS = 300;
// Bookmarks come about once a minute; where a server sends none, a quiet watch is only opened again.
const WATCH_IDLE_MS = 90_000;

export interface ClientOptions extends TransportOptions {
  /** How long a watch may say nothing before its connection counts as lost. */
  readonly watchIdleMs?: number | undefined;
}

/** The API server, in its own words: raw JSON in, raw JSON out. Nothing is cached and nothing is tried twice. */
export class KubeClient {
  readonly #transport: Transport;
  readonly #watchIdleMs: number;

  constructor(connection: Connection, options: ClientOptions = {}) {
    this.#transport = new Transport(connection, options);
    this.#watchIdleMs = options.watchIdleMs ?? WATCH_IDLE_MS;
  }

  /** Calls whose answer is awaited; open watches are not among them. */
  get inFlight(): number {
    return this.#transport.inFlight;
  }

  /** Milliseconds since the epoch by the server's clock, as far as its answers have told it. */
  serverNow(): number {
    return this.#transport.serverNow();
  }

  /** Told when calls succeed again after a time in which none did, and how long that was. */
  onRecovery(listener: (lastedMs: number) => void): void {
    this.#transport.outages.onOver(listener);
  }

  get<T = KubeObject>(resource: Resource, ref: ObjectRef, options: ReadOptions = {}): Promise<T> {
    return this.#transport.json({
      verb: 'get',
      method: 'GET',
      resource: resource.plural,
      path: resourcePath(resource, ref.namespace, ref.name, options.subresource),
      signal: options.signal,
    });
  }

  /** As `get`, for as long as `use` takes: the data of a Secret are bytes, and gone afterwards. */
  async read<T = KubeObject>(resource: Resource, ref: ObjectRef, use: (object: T) => void): Promise<void> {
    const { value, erase } = await this.#transport.erasable<T>({
      verb: 'get',
      method: 'GET',
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
   * Page by page; a listing that outlives the server's memory begins anew, with a page that says `fresh`. The data of
   * Secrets are bytes, and gone when the next page is asked for.
   */
  list<T = KubeObject>(resource: Resource, scope: Scope, options: ListOptions = {}): AsyncGenerator<ListPage<T>, void> {
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
      method: 'POST',
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
      method: 'PATCH',
      resource: resource.plural,
      path: resourcePath(resource, ref.namespace, ref.name, options.subresource),
      query: writeQuery(options),
      contentType: PATCH_TYPES[options.type],
      body: text(body),
      signal: options.signal,
    });
  }

  /** Refused with `Conflict` if `body` carries a resourceVersion that is no longer the newest. */
  replace<T = KubeObject>(resource: Resource, ref: ObjectRef, body: unknown, options: WriteOptions = {}): Promise<T> {
    return this.#transport.json({
      verb: 'update',
      method: 'PUT',
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
      method: 'DELETE',
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
      method: 'POST',
      resource: 'pods',
      path: `${resourcePath(PODS, pod.namespace, pod.name)}/eviction`,
      body: JSON.stringify({ apiVersion: 'policy/v1', kind: 'Eviction', metadata: pod }),
      signal: options.signal,
    });
  }

  /** A token of the ServiceAccount that is good for about so many seconds (the server's least is 600). */
  async requestToken(serviceAccount: ObjectRef, seconds: number): Promise<string> {
    const answer = await this.#transport.json<{ readonly status: { readonly token: string } }>({
      verb: 'create',
      method: 'POST',
      resource: 'serviceaccounts',
      path: `${resourcePath(SERVICE_ACCOUNTS, serviceAccount.namespace, serviceAccount.name)}/token`,
      body: JSON.stringify({
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenRequest',
        spec: { expirationSeconds: seconds },
      }),
    });
    return answer.status.token;
  }

  /**
   * What happened after `resourceVersion`, until the server ends the watch; see {@link watchEvents}. The data of a Secret
   * are bytes, and gone when the next event is asked for.
   */
  watch(
    resource: Resource,
    scope: Scope,
    resourceVersion: string,
    { signal, opened }: WatchOptions,
  ): AsyncGenerator<WatchEvent, void> {
    const call: Call = {
      verb: 'watch',
      method: 'GET',
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
    return watchEvents(this.#transport, call, opened);
  }

  /** The kinds of a group in all its versions; none where the group does not exist. */
  discover(group: string): Promise<readonly ServedKind[]> {
    return servedKinds(this.#transport, group);
  }

  /** Closes idle connections and breaks those in use. */
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
