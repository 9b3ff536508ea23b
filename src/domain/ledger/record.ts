import { type JsonObject, objectIn } from '../../api/json.ts';
import type { Applied } from './applied.ts';
import type { SourceId } from './source-id.ts';

/** Rides in the same PATCH as the rollout, so that "rolled" and "recorded" cannot come apart. */
export interface LedgerRecord extends Partial<KeptTemplates> {
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
  /** Not all sources are mentioned: there are more than an annotation can hold. */
  readonly partial?: true;
  /** A ReloaderConfig asks: the marks serve somebody though no annotation does. */
  readonly configs?: true;
}

/** A template in few letters, and the resource version since which there may be pods of it. */
export type KeptTemplate = readonly [digest: string, since: number];

export interface KeptTemplates {
  /** Recent templates, the present one last, or the one that a write makes. */
  readonly looks: readonly KeptTemplate[];
  /** After this version there may have been others, of which pods may be left. */
  readonly unseen?: number;
}

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

/** Whoever may edit a workload may have edited its record: everything in it is looked at. */
function isRecord(value: unknown): value is LedgerRecord {
  const record = objectIn(value);
  const { key, template, sources, seen, at } = record;
  return (
    typeof key === 'string' &&
    typeof template === 'string' &&
    isApplied(sources) &&
    isNumber(seen) &&
    isNumber(at) &&
    isKept(record)
  );
}

/** What a record and an entry of the checkpoint have in common is as it should be. */
export function isKept({ uid, seq, revision, looks = [], unseen }: JsonObject): boolean {
  return (
    typeof uid === 'string' &&
    Number.isSafeInteger(seq) &&
    (revision === undefined || typeof revision === 'string') &&
    isNumber(unseen) &&
    Array.isArray(looks) &&
    looks.every((look) => Array.isArray(look) && typeof look[0] === 'string' && typeof look[1] === 'number')
  );
}

export const isApplied = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.values(value).every((data) => typeof data === 'string');

const isNumber = (value: unknown): boolean => value === undefined || typeof value === 'number';
