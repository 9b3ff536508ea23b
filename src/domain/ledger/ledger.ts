import type { SourceKind } from '../../api/sources.ts';

/**
 * What a workload's pods run with, source by source.
 *
 * A value is a fingerprint's `exact`, or one of two words: the source was absent, or nobody can tell.
 * Nobody can tell counts as changed: a restart too many is better than a change lost.
 */
export type Applied = string;
export const ABSENT: Applied = '-';
export const UNKNOWN: Applied = '?';

/** A source within the workload's own namespace. */
export type SourceId = `${SourceKind}/${string}`;

/** Rides in the same PATCH as the rollout, so that "rolled" and "recorded" cannot come apart. */
export interface LedgerRecord {
  readonly uid: string;
  /** Counts the records of this workload: the higher one is the newer one, wherever it was found. */
  readonly seq: number;
  /** Names the key of the fingerprints; another installation's record says nothing to us. */
  readonly key: string;
  /** Template without marks, as it was when we wrote. */
  readonly template: string;
  readonly sources: Readonly<Record<SourceId, Applied>>;
  /** The newest resource version that had been seen when it was written: the write came after everything up to there. */
  readonly seen?: number;
  /** Second of the decision, by the server's clock. */
  readonly at?: number;
  /** The workload's revision that the write brings about: while it has that one, nobody has touched its template. */
  readonly revision?: string;
  /** Recent templates, the one that the write makes last. */
  readonly looks?: readonly KeptLook[];
  /** Not all sources are mentioned: there are more than an annotation can hold. */
  readonly partial?: true;
}

/** A template in few letters, and the resource version since which there may be pods of it. */
export type KeptLook = readonly [digest: string, since: number];

export function encodeRecord(record: LedgerRecord): string {
  return JSON.stringify({ v: 1, ...record });
}

/**
 * The same in so many bytes at most: where there are too many sources some are left out, `first` not before all others.
 * Undefined if there is no room for any.
 */
export function partOfRecord(record: LedgerRecord, maxBytes: number, first: Iterable<SourceId>): string | undefined {
  const bare: LedgerRecord = { ...record, sources: {}, partial: true };
  const room = maxBytes - encodeRecord(bare).length;
  return room < 0 ? undefined : encodeRecord({ ...bare, sources: withRoomFor(record.sources, room, first) });
}

/** As many of the sources as fit into so many bytes of JSON. Names of objects are plain ASCII. */
export function withRoomFor(
  sources: Readonly<Record<SourceId, Applied>>,
  bytes: number,
  first: Iterable<SourceId>,
): Readonly<Record<SourceId, Applied>> {
  const kept: Record<SourceId, Applied> = {};
  let left = bytes;
  for (const id of new Set([...first, ...(Object.keys(sources) as SourceId[])])) {
    const applied = sources[id];
    if (applied === undefined) continue;
    // Two pairs of quotes, a colon and a comma.
    left -= id.length + applied.length + 6;
    if (left < 0) break;
    kept[id] = applied;
  }
  return kept;
}

/** Undefined for anything that is not our record of this very object: damaged, copied from elsewhere, another key. */
export function parseRecord(text: string | undefined, uid: string, key: string): LedgerRecord | undefined {
  const record = readRecord(text);
  return record?.uid === uid && record.key === key ? record : undefined;
}

/** A record, of whatever object; undefined if it is damaged. */
export function readRecord(text: string | undefined): LedgerRecord | undefined {
  if (text === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is LedgerRecord {
  if (typeof value !== 'object' || value === null) return false;
  const { uid, seq, key, template, sources } = value as Readonly<Record<string, unknown>>;
  return (
    typeof uid === 'string' &&
    Number.isSafeInteger(seq) &&
    typeof key === 'string' &&
    typeof template === 'string' &&
    typeof sources === 'object' &&
    sources !== null &&
    Object.values(sources).every((entry) => typeof entry === 'string') &&
    isLooks((value as LedgerRecord).looks)
  );
}

function isLooks(looks: unknown): boolean {
  if (looks === undefined) return true;
  return (
    Array.isArray(looks) &&
    looks.every((look) => Array.isArray(look) && typeof look[0] === 'string' && typeof look[1] === 'number')
  );
}

export interface Lifecycle {
  readonly compat: boolean;
  readonly reloadOnCreate: boolean;
  readonly reloadOnDelete: boolean;
}

/** A class of mounted secrets comes into view with the first pod that uses it: that is neither created nor deleted. */
export function lifecycleOf(kind: SourceKind, lifecycle: Lifecycle): Lifecycle {
  if (kind !== 'SecretProviderClass') return lifecycle;
  return { ...lifecycle, reloadOnCreate: false, reloadOnDelete: false };
}

/**
 * `same`, `keep`: nothing to do. `settle`: nothing to roll, but from now on the current state counts as applied.
 * `unread`: the source's bytes have to be looked at first. The others are a reason to roll.
 */
export type Difference = 'same' | 'keep' | 'settle' | 'unread' | 'changed' | 'created' | 'deleted';

/** What it means that pods run with `applied` while the source is `current`. */
export function compare(applied: Applied, current: Applied, lifecycle: Lifecycle): Difference {
  if (current === UNKNOWN) return 'unread';
  if (applied === current) return 'same';
  if (current === ABSENT) {
    if (lifecycle.reloadOnDelete) return 'deleted';
    // Kept: deleting and creating anew is the only way to change an immutable ConfigMap. Upstream forgets instead.
    return lifecycle.compat ? 'settle' : 'keep';
  }
  if (applied === ABSENT) return lifecycle.reloadOnCreate ? 'created' : 'settle';
  return 'changed';
}

/** What the ledger says about one source of one workload. */
export interface Word {
  readonly seq: number;
  /** Undefined: nothing about this source. */
  readonly applied: Applied | undefined;
  /** Template and source were both written since: the pods may have begun with anything in between. */
  readonly isOvertaken?: boolean | undefined;
}

/** What is known about one source of one workload when we meet it. */
export interface Evidence {
  /** The mark on the template equals the source's current data, and no other source shares the mark. */
  readonly markIsCurrent: boolean;
  /** Upstream looks at nothing but the mark. Otherwise it speaks only where the ledger is silent. */
  readonly compat: boolean;
  readonly current: Applied;
  readonly record: Word | undefined;
  readonly checkpoint: Word | undefined;
  readonly baseline: Applied;
}

export interface Belief {
  readonly applied: Applied;
  readonly from: 'mark' | 'record' | 'checkpoint' | 'baseline';
}

export function believe({ markIsCurrent, compat, current, record, checkpoint, baseline }: Evidence): Belief {
  const mark: Belief = { applied: current, from: 'mark' };
  if (markIsCurrent && compat) return mark;
  // The checkpoint was written knowing the record whose number it carries, so at equal numbers it knows more.
  const recordIsNewer = record !== undefined && record.seq > (checkpoint?.seq ?? -1);
  const words = [
    { word: record, from: 'record' as const },
    { word: checkpoint, from: 'checkpoint' as const },
  ];
  if (!recordIsNewer) words.reverse();
  const [newest] = words.filter(({ word }) => word !== undefined);
  if (newest?.word?.isOvertaken) return { applied: UNKNOWN, from: newest.from };
  for (const { word, from } of words) if (word?.applied !== undefined) return { applied: word.applied, from };
  return markIsCurrent ? mark : { applied: baseline, from: 'baseline' };
}
