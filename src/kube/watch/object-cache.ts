import type { KubeObject } from '../../api/objects.ts';
import type { ListPage } from './listing.ts';
import type { Emit, ReflectOptions } from './reflector.ts';
import type { WatchEvent } from './watch.ts';

/** A listing that is being read into the cache. */
interface Listing {
  page(page: ListPage<KubeObject>): void;
  /** Removes what was not listed; returns the version from which a watch may continue. */
  complete(): string;
  /** Ends it early; what its pages brought stays. */
  abandon(): void;
}

// How many deletions are remembered where no bookmarks come. With more, every older event counts as late.
const MAX_DELETED = 1000;

/**
 * The digests of a kind's objects and the versions they were made of.
 *
 * Invariants
 *  1. A version is digested once: an event that arrives twice or late changes nothing.
 *  2. A late event does not bring back an object that was deleted meanwhile.
 *  3. A listing needs no second copy: each key moves from the old versions to the new ones, and what is left is deleted.
 */
export class ObjectCache<T> {
  readonly values = new Map<string, T>();
  readonly #digest: ReflectOptions<T>['digest'];
  #versions = new Map<string, string>();
  /** The versions of deletions since the last listing or bookmark. */
  readonly #deleted = new Map<string, string>();
  /** The version of the last listing or bookmark. */
  #completeUpTo = '';
  #position = '';

  constructor(digest: ReflectOptions<T>['digest']) {
    this.#digest = digest;
  }

  /** Applies an event of a watch; returns the version from which a watch would continue after it. */
  apply(event: WatchEvent, emit: Emit<T>): string {
    const { object } = event;
    const version = object.metadata.resourceVersion;
    if (event.type === 'BOOKMARK') {
      this.#completedUpTo(version);
      emit({ type: 'bookmark', resourceVersion: version });
    } else if (!this.#isLate(keyOf(object), version)) {
      if (event.type === 'DELETED') this.#remove(keyOf(object), version, emit);
      else this.#store(object, { full: true, initial: false }, emit);
    }
    if (!isOlder(version, this.#position)) this.#position = version;
    return this.#position;
  }

  beginListing(emit: Emit<T>): Listing {
    let unseen = new Map<string, string>();
    let position = '';
    const abandon = () => {
      for (const [key, version] of unseen) this.#versions.set(key, version);
      unseen = new Map();
    };
    const startOver = () => {
      abandon();
      unseen = this.#versions;
      this.#versions = new Map();
    };
    startOver();
    return {
      abandon,
      page: (page) => {
        if (page.fresh) startOver();
        position = page.resourceVersion;
        for (const object of page.items) {
          const key = keyOf(object);
          const known = unseen.get(key);
          unseen.delete(key);
          if (known !== undefined) this.#versions.set(key, known);
          // Also if the listed version is older than ours: the server was restored from a backup.
          if (known !== object.metadata.resourceVersion) this.#store(object, { full: page.full, initial: true }, emit);
        }
      },
      complete: () => {
        for (const key of unseen.keys()) this.#remove(key, undefined, emit, position);
        this.#completedUpTo(position);
        this.#position = position;
        return position;
      },
    };
  }

  #store(object: KubeObject, from: { readonly full: boolean; readonly initial: boolean }, emit: Emit<T>): void {
    const key = keyOf(object);
    const { resourceVersion } = object.metadata;
    const previous = this.values.get(key);
    const value = this.#digest(object, from.full, previous);
    if (value === undefined) {
      this.#remove(key, resourceVersion, emit);
      // No late event can come during a listing, which may hold very many objects without a digest.
      if (from.initial) this.#deleted.delete(key);
      return;
    }
    this.values.set(key, value);
    this.#versions.set(key, resourceVersion);
    this.#deleted.delete(key);
    const type = previous === undefined ? 'add' : 'change';
    emit({ type, key, value, previous, initial: from.initial, resourceVersion });
  }

  #remove(key: string, resourceVersion: string | undefined, emit: Emit<T>, goneBy?: string): void {
    this.#versions.delete(key);
    if (resourceVersion !== undefined) this.#deleted.set(key, resourceVersion);
    if (this.#deleted.size > MAX_DELETED) this.#completedUpTo(this.#position);
    const previous = this.values.get(key);
    if (previous === undefined) return;
    this.values.delete(key);
    emit({ type: 'remove', key, previous, resourceVersion, ...(goneBy !== undefined && { goneBy }) });
  }

  /** Every event up to `version` has been seen: what is older is late. */
  #completedUpTo(version: string): void {
    this.#completeUpTo = version;
    this.#deleted.clear();
  }

  #isLate(key: string, version: string): boolean {
    const known = this.#versions.get(key) ?? this.#deleted.get(key);
    return (known !== undefined && isOlder(version, known, true)) || isOlder(version, this.#completeUpTo, true);
  }
}

function keyOf({ metadata }: KubeObject): string {
  return metadata.namespace ? `${metadata.namespace}/${metadata.name}` : metadata.name;
}

const DECIMAL = /^[1-9][0-9]*$/;

/** By the API conventions versions are decimal numbers. Where a server does not follow them, none is older. */
function isOlder(version: string, than: string, orEqual = false): boolean {
  if (version === than) return orEqual;
  if (!DECIMAL.test(version) || !DECIMAL.test(than)) return false;
  return version.length === than.length ? version < than : version.length < than.length;
}
