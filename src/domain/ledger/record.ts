import { type JsonObject, objectIn } from '../../api/json.ts';
import type { Applied } from './applied.ts';
import { withRoomFor } from './room.ts';
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

/** 1 had fingerprints of data alone: equal Secrets of two namespaces looked equal in it. */
const VERSION = 2;
const BEGINS = `{"v":${VERSION},`;

export function encodeRecord(record: LedgerRecord): string {
  return JSON.stringify({ v: VERSION, ...record });
}

/** The version of a record that this program does not read; undefined if it does, or if this is no record at all. */
export function otherVersion(text: string | undefined): number | undefined {
  if (text === undefined || text.startsWith(BEGINS)) return undefined;
  const { v } = objectIn(parsed(text));
  return typeof v === 'number' && v !== VERSION ? v : undefined;
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

/** Undefined for anything that is not our record of this very object: damaged, copied, of another version or key. */
export function parseRecord(text: string | undefined, uid: string, key: string): LedgerRecord | undefined {
  const record = readRecord(text);
  return record?.uid === uid && record.key === key ? record : undefined;
}

/** A record, of whatever object; undefined if it is damaged, or of another version. */
export function readRecord(text: string | undefined): LedgerRecord | undefined {
  const value = text === undefined ? undefined : parsed(text);
  return isRecord(value) ? value : undefined;
}

/** Whether a record says that a ReloaderConfig asks, whatever its version. */
export const saysConfigsAsk = (text: string | undefined): boolean => objectIn(parsed(text ?? ''))['configs'] === true;

/**
 * What is left of a record of version 1 when its fingerprints are taken out; undefined for any other text. It has no key, so it
 * says nothing about what pods run with.
 */
export function withoutFingerprints(text: string | undefined): string | undefined {
  const value = text === undefined ? undefined : parsed(text);
  if (objectIn(value)['v'] !== 1 || !isWhole(value)) return undefined;
  const { uid, seq, at, configs } = value;
  const kept = { ...(at !== undefined && { at }), ...(configs && { configs }) };
  return encodeRecord({ uid, seq, key: '', template: '', sources: {}, ...kept });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const isRecord = (value: unknown): value is LedgerRecord => objectIn(value)['v'] === VERSION && isWhole(value);

/** Whoever may edit a workload may have edited its record: everything in it is looked at. */
function isWhole(value: unknown): value is LedgerRecord {
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
