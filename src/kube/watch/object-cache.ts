import type { KubeObject } from '../../api/objects.ts';
import type { ListPage } from './listing.ts';
import type { ReflectEvent } from './reflector.ts';
import type { WatchEvent } from './watch.ts';

type Emit<T> = (event: ReflectEvent<T>) => void;

/** A listing on its way into a ObjectCache. */
interface Listing {
  page(page: ListPage<KubeObject>): void;
  /** Removes what was not listed, and says from where a watch may go on. */
  complete(): string;
  /** Forgets that it began; what the pages told stays true. */
  abandon(): void;
}

// How many deletions are remembered where no bookmarks come, after which nothing older is believed to be news.
const MAX_DELETED = 1000;

/**
 * The digests of a kind's objects and the versions they were made of.
 *
 * Invariants
 *  1. A version is digested once: what arrives again, or arrives late, changes nothing.
 *  2. What arrives late for an object that was deleted meanwhile does not bring it back.
 *  3. A listing needs no second copy: each key moves from the old versions to the new, what is left over is gone.
 */
export class ObjectCache<T> {
  readonly values = new Map<string, T>();
  readonly #digest: (object: KubeObject, full: boolean, previous: T | undefined) => T | undefined;
  #versions = new Map<string, string>();
  /** Deleted since the last listing or bookmark, with the version of the deletion. */
  readonly #deleted = new Map<string, string>();
  /** Everything up to here has been told: the last listing or bookmark. */
  #floor = '';
  #position = '';

  constructor(digest: (object: KubeObject, full: boolean, previous: T | undefined) => T | undefined) {
    this.#digest = digest;
  }

  /** Takes one event of a watch and says from where a watch would go on after it. */
  apply(event: WatchEvent, emit: Emit<T>): string {
    const { object } = event;
    const version = object.metadata.resourceVersion;
    if (event.type === 'BOOKMARK') {
      this.#settle(version);
      emit({ type: 'bookmark', resourceVersion: version });
    } else if (!this.#isLate(keyOf(object), version)) {
      if (event.type === 'DELETED') this.#remove(keyOf(object), version, emit);
      else this.#store(object, { full: true, initial: false }, emit);
    }
    if (!isOlder(version, this.#position)) this.#position = version;
    return this.#position;
  }

  beginListing(emit: Emit<T>): Listing {
    let unseen = this.#versions;
    this.#versions = new Map();
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
          // A listing is right even where it is older than what we know: the server was set back to a backup.
          if (known !== object.metadata.resourceVersion) this.#store(object, { full: page.full, initial: true }, emit);
        }
      },
      complete: () => {
        for (const key of unseen.keys()) this.#remove(key, undefined, emit);
        this.#settle(position);
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
      // Nothing can be late while a listing is under way, and it may hold very many of these.
      if (from.initial) this.#deleted.delete(key);
      return;
    }
    this.values.set(key, value);
    this.#versions.set(key, resourceVersion);
    this.#deleted.delete(key);
    const type = previous === undefined ? 'add' : 'change';
    emit({ type, key, value, previous, initial: from.initial, resourceVersion });
  }

  #remove(key: string, resourceVersion: string | undefined, emit: Emit<T>): void {
    this.#versions.delete(key);
    if (resourceVersion !== undefined) this.#deleted.set(key, resourceVersion);
    if (this.#deleted.size > MAX_DELETED) this.#settle(this.#position);
    const previous = this.values.get(key);
    if (previous === undefined) return;
    this.values.delete(key);
    emit({ type: 'remove', key, previous, resourceVersion });
  }

  /** Up to `version` nothing can come any more that we do not know. */
  #settle(version: string): void {
    this.#floor = version;
    this.#deleted.clear();
  }

  #isLate(key: string, version: string): boolean {
    const known = this.#versions.get(key) ?? this.#deleted.get(key);
    return (known !== undefined && isOlder(version, known, true)) || isOlder(version, this.#floor, true);
  }
}

function keyOf({ metadata }: KubeObject): string {
  return metadata.namespace ? `${metadata.namespace}/${metadata.name}` : metadata.name;
}

const DECIMAL = /^[1-9][0-9]*$/;

/**
 * Versions are decimal numbers on every API server that follows the conventions; where one does not, they can only be
 * equal or not.
 */
function isOlder(version: string, than: string, orEqual = false): boolean {
  if (version === than) return orEqual;
  if (!DECIMAL.test(version) || !DECIMAL.test(than)) return false;
  return version.length === than.length ? version < than : version.length < than.length;
}
