const MIB = 1024 * 1024;

/** A page beyond this is broken off and asked for again in smaller ones. Parsed, it may take ten times the memory. */
export const MAX_PAGE_BYTES = 8 * MIB;
// What a page should have: several kinds are listed at once.
const PAGE_BYTES = 2 * MIB;
// Nobody knows yet how large the objects are: sixteen of the largest are 24 MiB, and broken off.
const FIRST_PAGE = 16;
// client-go: tools/pager.
const MAX_PAGE = 500;
// For each page the server goes through the names of all objects that are still to come, so the time for small pages grows with
// the square of the list. Of metadata more fits on a page.
const MAX_METADATA_PAGE = 1000;
// By how much the next page is smaller after one that was broken off.
const SHRINK = 8;

/**
 * How many objects the next page of a listing is asked for with: as many as should fit, by the bytes of the last page. Once a
 * page was broken off, each is at most twice as large as the one before: small objects say little about those ahead.
 */
export class PageSize {
  limit: number;
  readonly #fixed: number | undefined;
  /** By how much the next page may be larger than the last. */
  #growth = Number.POSITIVE_INFINITY;

  /** `fixed`: never more than so many. */
  constructor(fixed: number | undefined) {
    this.#fixed = fixed;
    this.limit = fixed ?? FIRST_PAGE;
  }

  /** A page has come, with so many objects. */
  fitted(items: number, bytes: number, full: boolean): void {
    const fitting = items === 0 ? this.limit : Math.floor((items * PAGE_BYTES) / bytes);
    const largest = this.#fixed ?? (full ? MAX_PAGE : MAX_METADATA_PAGE);
    this.limit = Math.max(1, Math.min(fitting, this.limit * this.#growth, largest));
  }

  /** A page was too large; false: it was asked for with one object, and cannot be smaller. */
  shrink(): boolean {
    if (this.limit === 1) return false;
    this.limit = Math.ceil(this.limit / SHRINK);
    this.#growth = 2;
    return true;
  }
}
