import type { KubeObject } from '../../api/objects.ts';
import { isSecret, type Resource } from '../../api/resources.ts';
import type { Scope } from '../client.ts';
import { KubeError } from '../kube-error.ts';
import { query, resourcePath } from '../resource-path.ts';
import { localError } from '../wire/call-errors.ts';
import type { Erasable } from '../wire/secret-json.ts';
import type { Call, Transport } from '../wire/transport.ts';

export interface ListOptions {
  /** Names, labels, annotations and versions, without data, spec and status. */
  readonly metadataOnly?: boolean | undefined;
  /** Objects per page. */
  readonly limit?: number | undefined;
  /** As it was at this very version; `Expired` where the server has forgotten it, which takes minutes. */
  readonly atVersion?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface ListPage<T> {
  readonly items: readonly T[];
  /** The same on all pages of a listing; a watch may start from it. */
  readonly resourceVersion: string;
  /** This page begins the listing; on a page in the middle: all pages before it are void, the server forgot them. */
  readonly fresh: boolean;
  /** False where the items carry metadata only. */
  readonly full: boolean;
}

// client-go: tools/pager.
const PAGE_SIZE = 500;
// For each page the server goes through all that is still to come, so that many small pages of a long list take time that
// grows with its square. Pages of metadata therefore grow with the list: by one object for so many that were listed.
const LISTED_PER_ITEM = 40;
const MAX_LIGHT_PAGE = 2000;
const METADATA_ONLY = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json';
// How often a listing may begin anew because its position was forgotten (five minutes each) before it counts as failed.
const MAX_RESTARTS = 3;

interface ListTarget {
  readonly resource: Resource;
  readonly scope: Scope;
}

/** How far a listing has come. */
interface Progress {
  readonly next: string | undefined;
  readonly limit: number;
  readonly restarts: number;
}

/** The pages of a listing; see `KubeClient.list`. */
export async function* listPages<T>(
  transport: Transport,
  subject: ListTarget,
  options: ListOptions,
): AsyncGenerator<ListPage<T>, void> {
  let progress: Progress = { next: undefined, limit: options.limit ?? PAGE_SIZE, restarts: 0 };
  let largest = options.limit ?? MAX_LIGHT_PAGE;
  let listed = 0;
  for (;;) {
    const call = listCall(subject, options, progress);
    let list: Erasable<RawList>;
    try {
      list = await transport.erasable(call);
    } catch (error) {
      progress = anotherWay(progress, error);
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

/** Begins anew where the server has forgotten the position, asks for less where a page was too large; else throws. */
function anotherWay(progress: Progress, error: unknown): Progress {
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

function listCall({ resource, scope }: ListTarget, options: ListOptions, { next, limit }: Progress): Call {
  return {
    verb: 'list',
    method: 'GET',
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
  // Somebody's empty `{}` is not an empty list: taken for one, every object would count as deleted.
  if (typeof resourceVersion !== 'string' || !Array.isArray(items) || !items.every(isKubeObject)) {
    throw localError(call, 'BadAnswer', 'the answer is not a list');
  }
  return {
    items: items as readonly unknown[] as readonly T[],
    resourceVersion,
    fresh,
    full: list.kind !== 'PartialObjectMetadataList',
  };
}

/** True where name and resourceVersion are present, without which nothing can be done with an object. */
export function isKubeObject(value: unknown): value is KubeObject {
  const metadata = (value as KubeObject | null | undefined)?.metadata;
  return typeof metadata?.resourceVersion === 'string' && typeof metadata.name === 'string';
}
