import type { SourceKind, SourceRef } from '../../api/sources.ts';
import { ABSENT, type Applied, UNKNOWN } from '../../domain/ledger/applied.ts';
import type { Source } from '../../domain/source/source.ts';

/** From `version` on, and until the next entry's, the source's data was `applied`. */
interface Era {
  readonly version: number;
  readonly applied: Applied;
}

interface Page {
  /** Undefined after its deletion. */
  source: Source | undefined;
  /** What the rules read of a source that is gone: deleting and creating anew must not look like opting out. */
  flags: { readonly ignored: boolean; readonly matchable: boolean };
  /** Since when, as far as we know, the data has been what it is. */
  since: number;
  /** The last change of data left Stakater's hash as it was: an equal mark proves nothing. */
  ambiguous: boolean;
  /** Earlier data. Only for sources that were seen to change: most never do. */
  eras: Era[] | undefined;
}

export interface SourceChange {
  readonly before: Applied;
  readonly after: Applied;
  /** Whether a rule may now judge differently, although the data is the same. */
  readonly flagsMoved: boolean;
  /** Nothing happened: what had been listed has now been read. */
  readonly isRead?: true;
  /** A listing showed it: from this version on it may have held anything. */
  readonly unseenFrom?: number | undefined;
}

const MAX_ERAS = 8;
const MAX_GRAVES = 10_000;
const NO_FLAGS = { ignored: false, matchable: false };

/**
 * Every source by name, with the recent history of its data.
 *
 * The history answers the one question that order of arrival cannot: watches of different kinds have no common
 * order, so whether a workload started before or after a change is told by the resource versions alone.
 */
export class SourceHistory {
  readonly #pages = new Map<string, Map<string, Page>>();
  readonly #graves: SourceRef[] = [];
  /** Pages that were read at a version of which the watch has yet to tell. */
  readonly #ahead = new Map<Page, number>();

  get(ref: SourceRef): Source | undefined {
    return this.#page(ref)?.source;
  }

  flags(ref: SourceRef): Page['flags'] {
    return this.#page(ref)?.flags ?? NO_FLAGS;
  }

  current(ref: SourceRef): Applied {
    const source = this.#page(ref)?.source;
    return source ? (source.fingerprint?.exact ?? UNKNOWN) : ABSENT;
  }

  /** The data that the source had at a moment of the server's own time. */
  at(ref: SourceRef, version: number): Applied {
    const page = this.#page(ref);
    if (!page) return ABSENT;
    if (version >= page.since) return this.current(ref);
    return page.eras?.findLast((era) => era.version <= version)?.applied ?? UNKNOWN;
  }

  /** The data that it had throughout a span of the server's time; unknown if it may have moved within. */
  during(ref: SourceRef, after: number, upTo: number): Applied {
    const page = this.#page(ref);
    if (!page || after >= page.since) return this.current(ref);
    const { eras = [] } = page;
    const at = eras.findLastIndex((era) => era.version <= after);
    const end = eras[at + 1]?.version ?? page.since;
    return at >= 0 && upTo < end ? (eras[at]?.applied ?? UNKNOWN) : UNKNOWN;
  }

  /** The data at the time of the first listing, for those who were there already. */
  atListing(ref: SourceRef): Applied {
    return this.#page(ref)?.eras?.[0]?.applied ?? this.current(ref);
  }

  /** Since when, as far as we know, the data has been what it is. */
  since(ref: SourceRef): number {
    return this.#page(ref)?.since ?? 0;
  }

  /** When its data was seen to change; 0: it is as it was found. */
  movedAt(ref: SourceRef): number {
    const page = this.#page(ref);
    return page?.eras === undefined ? 0 : page.since;
  }

  /** Whether its data was seen to change up to a version. */
  isMovedBy(ref: SourceRef, version: number): boolean {
    const page = this.#page(ref);
    const [, second] = page?.eras ?? [];
    return page?.eras !== undefined && (second?.version ?? page.since) <= version;
  }

  /** What it may have held before: absence, if we saw nothing else. Undefined: it was never seen to change. */
  formerly(ref: SourceRef): Applied | undefined {
    const eras = this.#page(ref)?.eras;
    return eras?.every(({ applied }) => applied === ABSENT) ? ABSENT : eras && UNKNOWN;
  }

  isAmbiguous(ref: SourceRef): boolean {
    return this.#page(ref)?.ambiguous === true;
  }

  *inNamespace(kind: SourceKind, namespace: string): Generator<Source> {
    for (const { source } of this.#pages.get(`${kind}/${namespace}`)?.values() ?? []) if (source) yield source;
  }

  /** How many names of a kind there are in a namespace, about. */
  countIn(kind: SourceKind, namespace: string): number {
    return this.#pages.get(`${kind}/${namespace}`)?.size ?? 0;
  }

  /** How many there are of each kind. */
  counts(): Map<SourceKind, number> {
    const counts = new Map<SourceKind, number>();
    for (const [at, pages] of this.#pages) {
      const kind = at.slice(0, at.indexOf('/')) as SourceKind;
      let living = counts.get(kind) ?? 0;
      for (const { source } of pages.values()) if (source) living += 1;
      counts.set(kind, living);
    }
    return counts;
  }

  /**
   * `born`: it did not exist before, as far as we were looking. `told`: a listing shows it, and what it held since that
   * version is not known.
   */
  put(source: Source, born: boolean, told?: number): SourceChange {
    const before = this.current(source.ref);
    const page = this.#page(source.ref) ?? this.#newPage(source.ref);
    if (this.#isOutrun(page, Number(source.resourceVersion))) return unturned(before);
    const flagsMoved = page.flags.ignored !== source.ignored || page.flags.matchable !== source.matchable;
    const after = source.fingerprint?.exact ?? UNKNOWN;
    const unseenFrom = told && page.source && Math.max(told, Number(page.source.resourceVersion)) + 1;
    if (before !== after || after === UNKNOWN || unseenFrom !== undefined) {
      if (page.source || born) close(page, before);
      if (unseenFrom !== undefined) close({ ...page, since: unseenFrom }, UNKNOWN);
      page.since = Number(source.resourceVersion);
      page.ambiguous = after !== UNKNOWN && page.source?.fingerprint?.mark === source.fingerprint?.mark;
    }
    page.source = source;
    page.flags =
      source.ignored || source.matchable ? { ignored: source.ignored, matchable: source.matchable } : NO_FLAGS;
    return { before, after, flagsMoved, unseenFrom };
  }

  /**
   * The bytes of a listed version were read afterwards. A newer version than the listed one is a change like any other;
   * an answer that took longer than the watch is history.
   */
  fill(source: Source): SourceChange {
    const page = this.#page(source.ref);
    const before = this.current(source.ref);
    const version = Number(source.resourceVersion);
    if (!page?.source || version < newestOf(page, page.source)) return unturned(before);
    if (page.source.resourceVersion !== source.resourceVersion) {
      const turn = this.put(source, false);
      this.#ahead.set(page, version);
      return turn;
    }
    page.source = source;
    return { before, after: this.current(source.ref), flagsMoved: false, isRead: true };
  }

  /** `version` of the deletion, undefined when only its absence was noticed. */
  remove(ref: SourceRef, version: number | undefined): SourceChange {
    const page = this.#page(ref);
    const before = this.current(ref);
    if (page?.source) {
      if (this.#isOutrun(page, version)) return unturned(before);
      close(page, before);
      page.since = version ?? Number(page.source.resourceVersion) + 1;
      page.source = undefined;
      this.#bury(ref);
    }
    return { before, after: ABSENT, flagsMoved: false };
  }

  /** The watch tells of something older than what was read meanwhile. */
  #isOutrun(page: Page, version: number | undefined): boolean {
    if (this.#ahead.size === 0) return false;
    if (version !== undefined && version < (this.#ahead.get(page) ?? 0)) return true;
    this.#ahead.delete(page);
    return false;
  }

  #page(ref: SourceRef): Page | undefined {
    return this.#pages.get(`${ref.kind}/${ref.namespace}`)?.get(ref.name);
  }

  #newPage(ref: SourceRef): Page {
    const at = `${ref.kind}/${ref.namespace}`;
    const pages = this.#pages.get(at) ?? new Map<string, Page>();
    this.#pages.set(at, pages);
    const page: Page = { source: undefined, flags: NO_FLAGS, since: 0, ambiguous: false, eras: undefined };
    pages.set(ref.name, page);
    return page;
  }

  #bury(ref: SourceRef): void {
    this.#graves.push(ref);
    if (this.#graves.length <= MAX_GRAVES) return;
    const oldest = this.#graves.shift();
    if (oldest && !this.get(oldest)) this.#pages.get(`${oldest.kind}/${oldest.namespace}`)?.delete(oldest.name);
  }
}

const unturned = (now: Applied): SourceChange => ({ before: now, after: now, flagsMoved: false });

const newestOf = ({ since }: Page, { resourceVersion }: Source): number => Math.max(since, Number(resourceVersion));

/** What has been true until now becomes history. */
function close(page: Page, applied: Applied): void {
  page.eras ??= [];
  page.eras.push({ version: page.since, applied });
  if (page.eras.length > MAX_ERAS) page.eras.shift();
}
