import type { KubeObject } from '../../api/objects.ts';
import { isSecret, type Resource } from '../../api/resources.ts';
import { pause } from '../../runtime/backoff.ts';
import type { ListScope } from '../client.ts';
import { KubeError } from '../kube-error.ts';
import { query, resourcePath } from '../resource-path.ts';
import { delayAfter } from '../retry-transient.ts';
import { localError } from '../wire/call-errors.ts';
import type { Answer, Call, Transport } from '../wire/transport.ts';
import { MAX_PAGE_BYTES, PageSize } from './page-size.ts';

export interface ListOptions {
  /** Objects without data, spec and status. */
  readonly metadataOnly?: boolean | undefined;
  /** At most so many on a page. */
  readonly limit?: number | undefined;
  /** The list as it was at exactly this version; fails with `Expired` when the server has forgotten it, after minutes. */
  readonly atVersion?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called when the server puts a page off, which is asked for again; `failures` counts those in a row. */
  readonly retrying?: ((error: KubeError, delayMs: number, failures: number) => void) | undefined;
}

export interface ListPage<T> {
  /** Taken out when the next page is asked for: until then what was done with each has to be done. */
  readonly items: T[];
  /** The same on all pages of a listing; a watch may start from it. */
  readonly resourceVersion: string;
  /** The first page of a listing, or of one that started over: then the pages before it are void. */
  readonly fresh: boolean;
  /** False where the items carry metadata only. */
  readonly full: boolean;
}

const METADATA_ONLY = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json';
// How often a listing may start over because the server forgot its position, which takes five minutes each time.
const MAX_RESTARTS = 3;
// How often a page is asked for again. client-go: rest.Request.
const MAX_RETRIES = 10;

/** Where a listing is. */
interface Progress {
  readonly next: string | undefined;
  readonly restarts: number;
}

/** The pages of a listing; see `KubeClient.list`. */
export async function* listPages<T>(
  transport: Transport,
  resource: Resource,
  scope: ListScope,
  options: ListOptions,
): AsyncGenerator<ListPage<T>, void> {
  const size = new PageSize(options.limit);
  let progress: Progress = { next: undefined, restarts: 0 };
  let lastFirst: string | undefined;
  for (;;) {
    const call = listCall(resource, scope, options, { ...progress, limit: size.limit });
    let list: Answer<RawList>;
    try {
      list = await fetchPage(transport, call, options, progress);
    } catch (error) {
      if (KubeError.is(error, 'TooLarge') && size.shrink()) continue;
      progress = startOver(progress, error);
      continue;
    }
    const page = readPage<T>(call, list.value, progress.next === undefined);
    const next = list.value.metadata?.continue || undefined;
    const first = nameOfFirst(list.value);
    const hasMoved = next === undefined || next !== progress.next || (first !== undefined && first !== lastFirst);
    if (!hasMoved) {
      list.erase();
      throw localError(call, 'BadAnswer', 'the server sends the same page again');
    }
    progress = { ...progress, next };
    lastFirst = first;
    size.fitted(page.items.length, list.bytes, page.full);
    try {
      yield page;
    } finally {
      list.erase();
      // Whoever waits for the next page has this one still at hand.
      page.items.length = 0;
    }
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
): Promise<Answer<RawList>> {
  for (let failures = 1; ; failures += 1) {
    try {
      return await transport.answer(call);
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

/** Starts over where the server forgot the position; else throws. */
function startOver({ next, restarts }: Progress, error: unknown): Progress {
  const isForgotten = next !== undefined && KubeError.is(error, 'Expired', 'Gone');
  if (!isForgotten || restarts >= MAX_RESTARTS) throw error;
  return { next: undefined, restarts: restarts + 1 };
}

interface RawList {
  readonly kind?: string;
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
  readonly items?: unknown[] | null;
}

function listCall(
  resource: Resource,
  scope: ListScope,
  options: ListOptions,
  { next, limit }: Progress & { readonly limit: number },
): Call {
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
    // A single object is never too large to be listed: it would keep its kind from everybody.
    ...(limit > 1 && { maxBytes: MAX_PAGE_BYTES }),
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
  return { items: items as unknown[] as T[], resourceVersion, fresh, full };
}

function nameOfFirst({ items }: RawList): string | undefined {
  const [first] = (items ?? []) as readonly KubeObject[];
  return first && `${first.metadata.namespace ?? ''}/${first.metadata.name}`;
}

/** Whether it has the name and resourceVersion that everything here relies on. */
export function isKubeObject(value: unknown): value is KubeObject {
  const metadata = (value as KubeObject | null | undefined)?.metadata;
  return typeof metadata?.resourceVersion === 'string' && typeof metadata.name === 'string';
}
