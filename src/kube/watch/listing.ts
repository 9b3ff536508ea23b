import type { KubeObject } from '../../api/objects.ts';
import { isSecret, type Resource } from '../../api/resources.ts';
import { pause } from '../../runtime/backoff.ts';
import type { ListScope } from '../client.ts';
import { KubeError } from '../kube-error.ts';
import { query, resourcePath } from '../resource-path.ts';
import { delayAfter } from '../retry-transient.ts';
import { localError } from '../wire/call-errors.ts';
import type { Erasable } from '../wire/secret-json.ts';
import type { Call, Transport } from '../wire/transport.ts';

export interface ListOptions {
  /** Objects without data, spec and status. */
  readonly metadataOnly?: boolean | undefined;
  readonly limit?: number | undefined;
  /** The list as it was at exactly this version; fails with `Expired` when the server has forgotten it, after minutes. */
  readonly atVersion?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called when the server puts a page off, which is asked for again; `failures` counts those in a row. */
  readonly retrying?: ((error: KubeError, delayMs: number, failures: number) => void) | undefined;
}

export interface ListPage<T> {
  readonly items: readonly T[];
  /** The same on all pages of a listing; a watch may start from it. */
  readonly resourceVersion: string;
  /** The first page of a listing, or of one that started over: then the pages before it are void. */
  readonly fresh: boolean;
  /** False where the items carry metadata only. */
  readonly full: boolean;
}

// client-go: tools/pager.
const PAGE_SIZE = 500;
// For each page the server reads all objects that are still to come, so the time for small pages grows with the square of
// the list. Pages of metadata therefore grow: by one object for each so many that were listed.
const LISTED_PER_ITEM = 40;
const MAX_METADATA_PAGE = 2000;
const METADATA_ONLY = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json';
// How often a listing may start over because the server forgot its position, which takes five minutes each time.
const MAX_RESTARTS = 3;
// How often a page is asked for again. client-go: rest.Request.
const MAX_RETRIES = 10;

interface Progress {
  readonly next: string | undefined;
  readonly limit: number;
  readonly restarts: number;
}

/** The pages of a listing; see `KubeClient.list`. */
export async function* listPages<T>(
  transport: Transport,
  resource: Resource,
  scope: ListScope,
  options: ListOptions,
): AsyncGenerator<ListPage<T>, void> {
  let progress: Progress = { next: undefined, limit: options.limit ?? PAGE_SIZE, restarts: 0 };
  let largest = options.limit ?? MAX_METADATA_PAGE;
  let listed = 0;
  for (;;) {
    const call = listCall(resource, scope, options, progress);
    let list: Erasable<RawList>;
    try {
      list = await fetchPage(transport, call, options, progress);
    } catch (error) {
      progress = retryWith(progress, error);
      largest = Math.min(largest, progress.limit);
      continue;
    }
    const page = readPage<T>(call, list.value, progress.next === undefined);
    try {
      yield page;
    } finally {
      list.erase();
    }
    listed += page.items.length;
    const grown = page.full ? 0 : Math.min(largest, Math.floor(listed / LISTED_PER_ITEM));
    const limit = Math.max(progress.limit, grown);
    progress = { ...progress, limit, next: list.value.metadata?.continue || undefined };
    if (progress.next === undefined) return;
  }
}

/**
 * A page behind the first is asked for again while the server puts it off: to begin anew would cost a busy server all the
 * pages before it, and might never come to an end. A first page has nothing to lose, and its caller decides.
 */
async function fetchPage(
  transport: Transport,
  call: Call,
  { signal = new AbortController().signal, retrying }: ListOptions,
  { next }: Progress,
): Promise<Erasable<RawList>> {
  for (let failures = 1; ; failures += 1) {
    try {
      return await transport.erasable(call);
    } catch (error) {
      if (next === undefined || failures > MAX_RETRIES || !isPutOff(error)) throw error;
      const delayMs = delayAfter(error, failures);
      retrying?.(error, delayMs, failures);
      await pause(transport.clock, delayMs, signal);
    }
  }
}

/** Whether the server asks to come back later. */
const isPutOff = (error: unknown): error is KubeError =>
  KubeError.is(error) && (error.status === 429 || (error.status >= 500 && error.retryAfterMs !== undefined));

/** Starts over where the server forgot the position, asks for smaller pages where one was too large; else throws. */
function retryWith(progress: Progress, error: unknown): Progress {
  const { next, limit, restarts } = progress;
  if (next !== undefined && restarts < MAX_RESTARTS && KubeError.is(error, 'Expired', 'Gone')) {
    return { limit, next: undefined, restarts: restarts + 1 };
  }
  if (limit > 1 && KubeError.is(error, 'TooLarge')) return { ...progress, limit: Math.ceil(limit / 8) };
  throw error;
}

interface RawList {
  readonly kind?: string;
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
  readonly items?: readonly unknown[] | null;
}

function listCall(resource: Resource, scope: ListScope, options: ListOptions, { next, limit }: Progress): Call {
  return {
    verb: 'list',
    resource: resource.plural,
    path: resourcePath(resource, scope.namespace),
    query: query({
      limit,
      continue: next,
      ...(options.atVersion !== undefined &&
        next === undefined && { resourceVersion: options.atVersion, resourceVersionMatch: 'Exact' }),
      labelSelector: scope.labelSelector,
      fieldSelector: scope.fieldSelector,
    }),
    ...(options.metadataOnly && { accept: METADATA_ONLY }),
    secret: isSecret(resource),
    signal: options.signal,
  };
}

function readPage<T>(call: Call, list: RawList, fresh: boolean): ListPage<T> {
  const resourceVersion = list?.metadata?.resourceVersion;
  const items = list?.items ?? [];
  // An empty `{}` from a proxy must not pass for an empty list: every object would count as deleted.
  if (typeof resourceVersion !== 'string' || !Array.isArray(items) || !items.every(isKubeObject)) {
    throw localError(call, 'BadAnswer', 'the answer is not a list');
  }
  const full = list.kind !== 'PartialObjectMetadataList';
  return { items: items as readonly unknown[] as readonly T[], resourceVersion, fresh, full };
}

/** Whether it has the name and resourceVersion that everything here relies on. */
export function isKubeObject(value: unknown): value is KubeObject {
  const metadata = (value as KubeObject | null | undefined)?.metadata;
  return typeof metadata?.resourceVersion === 'string' && typeof metadata.name === 'string';
}
