import type { SourceKind, SourceRef } from '../../api/sources.ts';
import { ABSENT, type Applied, UNKNOWN } from '../../domain/ledger/applied.ts';
import { type Labels, NO_LABELS, type Source, type SourceFlags } from '../../domain/source/source.ts';
import { isSameLabels, labelsBytes } from './label-sets.ts';

/** From `version` on, and until the next entry's, the source's data was `applied`. */
interface PastData {
  readonly version: number;
  readonly applied: Applied;
}

interface Entry {
  /** Undefined after its deletion. */
  source: Source | undefined;
  /** What the rules read of a source that is gone: deleting and creating anew must not look like opting out. */
  flags: SourceFlags;
  /** Since when, as far as we know, the data has been what it is. */
  since: number;
  /** The last change of data left Stakater's hash as it was: an equal mark proves nothing. */
  ambiguous: boolean;
  /** Earlier data. Only for sources that were seen to change: most never do. */
  past: PastData[] | undefined;
}

export interface SourceChange {
  readonly before: Applied;
  readonly after: Applied;
  /** Whether a rule may now judge differently, although the data is the same. */
  readonly flagsMoved: boolean;
  /** What the rules read of it until now, where that was something else. */
  readonly flagsBefore?: SourceFlags | undefined;
  /** Nothing happened: what had been listed has now been read. */
  readonly isRead?: true;
  /** A listing showed it: from this version on it may have held anything. */
  readonly unseenFrom?: number | undefined;
}

const MAX_PAST = 8;
const MAX_TOMBSTONES = 10_000;
// Of the labels of deleted sources, those of the last ones are kept. Sets that many have count once.
const MAX_TOMBSTONE_LABELS = 4 * 1024 * 1024;
const NO_FLAGS: SourceFlags = { ignored: false, matchable: false, labels: NO_LABELS };

/**
 * Every source by name, with the recent history of its data.
 *
 * The history answers the one question that order of arrival cannot: watches of different kinds have no common
 * order, so whether a workload started before or after a change is told by the resource versions alone.
 */
export class SourceHistory {
  /** By kind and namespace, then by name. */
  readonly #entries = new Map<string, Map<string, Entry>>();
  /** Of deleted sources: what they held before counts until so many others were deleted. */
  readonly #tombstones: SourceRef[] = [];
  /** Of these the ones with labels, how many have each set of labels, and how large all sets are. */
  readonly #labelled: { readonly entry: Entry; readonly labels: Labels }[] = [];
  readonly #labelSets = new Map<Labels, number>();
  #labelsBytes = 0;
  /** Sources that were read at a version which the watch has yet to bring. */
  readonly #ahead = new Map<Entry, number>();
  #changes = 0;

  /** Grows with everything that is told of a source. */
  get changes(): number {
    return this.#changes;
  }

  get(ref: SourceRef): Source | undefined {
    return this.#entry(ref)?.source;
  }

  flags(ref: SourceRef): SourceFlags {
    return this.#entry(ref)?.flags ?? NO_FLAGS;
  }

  current(ref: SourceRef): Applied {
    const source = this.#entry(ref)?.source;
    return source ? (source.fingerprint?.exact ?? UNKNOWN) : ABSENT;
  }

  /** The data that the source had at a moment of the server's own time. */
  at(ref: SourceRef, version: number): Applied {
    const entry = this.#entry(ref);
    if (!entry) return ABSENT;
    if (version >= entry.since) return this.current(ref);
    return entry.past?.findLast((each) => each.version <= version)?.applied ?? UNKNOWN;
  }

  /** The data that it had throughout a span of the server's time; unknown if it may have moved within. */
  during(ref: SourceRef, after: number, upTo: number): Applied {
    const entry = this.#entry(ref);
    if (!entry || after >= entry.since) return this.current(ref);
    const { past = [] } = entry;
    const at = past.findLastIndex((each) => each.version <= after);
    const end = past[at + 1]?.version ?? entry.since;
    return at >= 0 && upTo < end ? (past[at]?.applied ?? UNKNOWN) : UNKNOWN;
  }

  /** The data at the time of the first listing, for those who were there already. */
  atListing(ref: SourceRef): Applied {
    return this.#entry(ref)?.past?.[0]?.applied ?? this.current(ref);
  }

  /** Since when, as far as we know, the data has been what it is. */
  since(ref: SourceRef): number {
    return this.#entry(ref)?.since ?? 0;
  }

  /** When its data was seen to change; 0: it is as it was found. */
  movedAt(ref: SourceRef): number {
    const entry = this.#entry(ref);
    return entry?.past === undefined ? 0 : entry.since;
  }

  /** Whether its data was seen to change up to a version. */
  isMovedBy(ref: SourceRef, version: number): boolean {
    const entry = this.#entry(ref);
    const [, second] = entry?.past ?? [];
    return entry?.past !== undefined && (second?.version ?? entry.since) <= version;
  }

  /** What it may have held before: absence, if we saw nothing else. Undefined: it was never seen to change. */
  formerly(ref: SourceRef): Applied | undefined {
    const past = this.#entry(ref)?.past;
    return past?.every(({ applied }) => applied === ABSENT) ? ABSENT : past && UNKNOWN;
  }

  isAmbiguous(ref: SourceRef): boolean {
    return this.#entry(ref)?.ambiguous === true;
  }

  *inNamespace(kind: SourceKind, namespace: string): Generator<Source> {
    for (const { source } of this.#entries.get(`${kind}/${namespace}`)?.values() ?? []) if (source) yield source;
  }

  /** How many names of a kind there are in a namespace, about. */
  countIn(kind: SourceKind, namespace: string): number {
    return this.#entries.get(`${kind}/${namespace}`)?.size ?? 0;
  }

  /** How many there are of each kind. */
  counts(): Map<SourceKind, number> {
    const counts = new Map<SourceKind, number>();
    for (const [at, entries] of this.#entries) {
      const kind = at.slice(0, at.indexOf('/')) as SourceKind;
      let living = counts.get(kind) ?? 0;
      for (const { source } of entries.values()) if (source) living += 1;
      counts.set(kind, living);
    }
    return counts;
  }

  /**
   * `born`: it did not exist before, as far as we were looking. `completeUpTo`: a listing shows it, and what it held since
   * that version is not known.
   */
  put(source: Source, born: boolean, completeUpTo?: number): SourceChange {
    this.#changes += 1;
    const before = this.current(source.ref);
    const entry = this.#entry(source.ref) ?? this.#newEntry(source.ref);
    if (this.#isOutrun(entry, Number(source.resourceVersion))) return unchanged(before);
    const flagsMoved = !isSame(entry.flags, source);
    const flagsBefore = flagsMoved ? entry.flags : undefined;
    const after = source.fingerprint?.exact ?? UNKNOWN;
    const unseenFrom = completeUpTo && entry.source && Math.max(completeUpTo, Number(entry.source.resourceVersion)) + 1;
    if (before !== after || after === UNKNOWN || unseenFrom !== undefined) {
      if (entry.source || born) close(entry, before);
      if (unseenFrom !== undefined) close({ ...entry, since: unseenFrom }, UNKNOWN);
      entry.since = Number(source.resourceVersion);
      entry.ambiguous = after !== UNKNOWN && entry.source?.fingerprint?.mark === source.fingerprint?.mark;
    }
    entry.source = source;
    if (flagsMoved) entry.flags = flagsOf(source);
    return { before, after, flagsMoved, flagsBefore, unseenFrom };
  }

  /**
   * The bytes of a listed version were read afterwards. A newer version than the listed one is a change like any other;
   * an answer that took longer than the watch is history.
   */
  fill(source: Source): SourceChange {
    this.#changes += 1;
    const entry = this.#entry(source.ref);
    const before = this.current(source.ref);
    const version = Number(source.resourceVersion);
    if (!entry?.source || version < Math.max(entry.since, Number(entry.source.resourceVersion)))
      return unchanged(before);
    if (entry.source.resourceVersion !== source.resourceVersion) {
      const change = this.put(source, false);
      this.#ahead.set(entry, version);
      return change;
    }
    entry.source = source;
    return { before, after: this.current(source.ref), flagsMoved: false, isRead: true };
  }

  /** `version` of the deletion. `completeUpTo`: a listing noticed it, and what there was since that version is not known. */
  remove(ref: SourceRef, version: number, completeUpTo?: number): SourceChange {
    this.#changes += 1;
    const entry = this.#entry(ref);
    const before = this.current(ref);
    if (!entry?.source) return { before, after: ABSENT, flagsMoved: false };
    // Its absence in a listing counts, whatever was read before.
    if (this.#isOutrun(entry, completeUpTo === undefined ? version : undefined)) return unchanged(before);
    const unseenFrom = completeUpTo && Math.max(completeUpTo, Number(entry.source.resourceVersion)) + 1;
    close(entry, before);
    if (unseenFrom !== undefined) close({ ...entry, since: unseenFrom }, UNKNOWN);
    entry.since = version;
    entry.source = undefined;
    this.#keepTombstone(ref);
    this.#keepLabels(entry);
    return { before, after: ABSENT, flagsMoved: false, unseenFrom };
  }

  /** As if it had never been seen. */
  forget(ref: SourceRef): void {
    const entries = this.#entries.get(placeOf(ref));
    entries?.delete(ref.name);
    if (entries?.size === 0) this.#entries.delete(placeOf(ref));
  }

  /** The watch tells of something older than what was read meanwhile. */
  #isOutrun(entry: Entry, version: number | undefined): boolean {
    if (this.#ahead.size === 0) return false;
    if (version !== undefined && version < (this.#ahead.get(entry) ?? 0)) return true;
    this.#ahead.delete(entry);
    return false;
  }

  #entry(ref: SourceRef): Entry | undefined {
    return this.#entries.get(placeOf(ref))?.get(ref.name);
  }

  #newEntry(ref: SourceRef): Entry {
    const entry: Entry = { source: undefined, flags: NO_FLAGS, since: 0, ambiguous: false, past: undefined };
    const entries = this.#entries.get(placeOf(ref)) ?? new Map<string, Entry>();
    this.#entries.set(placeOf(ref), entries.set(ref.name, entry));
    return entry;
  }

  #keepTombstone(ref: SourceRef): void {
    this.#tombstones.push(ref);
    if (this.#tombstones.length <= MAX_TOMBSTONES) return;
    const oldest = this.#tombstones.shift();
    if (oldest && !this.get(oldest)) this.forget(oldest);
  }

  #keepLabels(entry: Entry): void {
    const { labels } = entry.flags;
    if (labels === NO_LABELS) return;
    this.#labelled.push({ entry, labels });
    this.#countSet(labels, 1);
    while (this.#labelsBytes > MAX_TOMBSTONE_LABELS || this.#labelled.length > MAX_TOMBSTONES) {
      const oldest = this.#labelled.shift();
      if (!oldest) return;
      this.#countSet(oldest.labels, -1);
      const { source, flags } = oldest.entry;
      if (!source && flags.labels === oldest.labels) oldest.entry.flags = { ...flags, labels: NO_LABELS };
    }
  }

  #countSet(labels: Labels, more: 1 | -1): void {
    const before = this.#labelSets.get(labels) ?? 0;
    const after = before + more;
    if (after > 0) this.#labelSets.set(labels, after);
    else this.#labelSets.delete(labels);
    if (before === 0 || after === 0) this.#labelsBytes += more * labelsBytes(labels);
  }
}

const placeOf = ({ kind, namespace }: SourceRef): string => `${kind}/${namespace}`;

/** Labels are usually the same object where they are the same: the parser keeps each set of them once. */
const isSame = (flags: SourceFlags, { ignored, matchable, labels }: SourceFlags): boolean =>
  flags.ignored === ignored && flags.matchable === matchable && isSameLabels(flags.labels, labels);

/** Most sources carry no annotation that counts, and many share their labels: one object for all of these. */
const plainFlags = new WeakMap<SourceFlags['labels'], SourceFlags>([[NO_LABELS, NO_FLAGS]]);

function flagsOf({ ignored, matchable, labels }: SourceFlags): SourceFlags {
  const known = ignored || matchable ? undefined : plainFlags.get(labels);
  const flags = known ?? { ignored, matchable, labels };
  if (!ignored && !matchable && !known) plainFlags.set(labels, flags);
  return flags;
}

const unchanged = (now: Applied): SourceChange => ({ before: now, after: now, flagsMoved: false });

/** What it held until now becomes the past. */
function close(entry: Entry, applied: Applied): void {
  entry.past ??= [];
  entry.past.push({ version: entry.since, applied });
  if (entry.past.length > MAX_PAST) entry.past.shift();
}
