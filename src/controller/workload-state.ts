import type { SourceRef } from '../api/sources.ts';
import type { Applied, LedgerRecord, SourceId } from '../domain/ledger.ts';
import type { Workload } from '../domain/workload.ts';
import { SparseMap } from '../runtime/sparse-map.ts';

/** A record of which nobody told us when, in the server's time, it was written. */
export interface Unplaced {
  readonly record: LedgerRecord;
  /** The Job that carries it; undefined: the workload itself. */
  readonly job: string | undefined;
  /** Resource version of the object that it was found on: it was not written later. */
  readonly before: number;
}

/** Everything remembered about one workload. The ledger's entry is `applied`; the rest is how we got there. */
export interface WorkloadState {
  workload: Workload;
  /** Resource version of its creation, if we saw it; undefined when it came from a listing. */
  readonly born: number | undefined;
  /** Resource version up to which it was certainly not there: a listing showed it later, or not before our time (0). */
  readonly foundAfter: number;
  /** Resource version of the event with which its template or annotations last moved; 0 while it stands as listed. */
  since: number;
  /** Resource version of its creation, or of a template by another hand that never was before: all pods are newer. */
  renewedAt: number;
  /** What was settled by such a renewal, with what was applied before. */
  readonly trusted: SparseMap<SourceId, Applied>;
  /** What its pods run with, for each source that would roll it. */
  readonly applied: Map<SourceId, Applied>;
  /** Number of its newest record. */
  seq: number;
  /** That record, if it was found and not seen to be written. */
  unplaced: Unplaced | undefined;
  /** Changes that wait, in the order in which they came, each with the data that is to be applied. */
  readonly waiting: SparseMap<SourceId, Applied>;
  firstChangeAt: number;
  lastChangeAt: number;
  /** When it is to be looked at next. */
  dueAt: number;
  /** The marks of our last write, so that we notice when another writer takes them away. */
  readonly wrote: SparseMap<SourceId, string>;
  /** Second of our last write. */
  wroteAt: number;
  /** Data that was taken away from the template and applied a second time. There is no third. */
  readonly reapplied: SparseMap<SourceId, Applied>;
  /** Changes that another writer keeps undoing: visible, and tried again when the template moves. */
  readonly undelivered: SparseMap<SourceId, true>;
  /** Recent templates without marks, newest last: going back to one of them proves nothing about the age of pods. */
  readonly templates: string[];
  /** The same, marks included. */
  readonly looks: string[];
  /** Our write is on its way: what is seen meanwhile says nothing about it. */
  writing: boolean;
  /** Who waits for the next version of the object. */
  readonly waiters: (() => void)[];
  /** Nothing is written before its annotations change: one of them cannot be read. */
  held: boolean;
  /** Problems already told, so that each is told once. */
  readonly told: SparseMap<string, true>;
}

const MAX_TEMPLATES = 12;

export function newState(workload: Workload, born: number | undefined, foundAfter = 0): WorkloadState {
  return {
    workload,
    born,
    foundAfter,
    since: born ?? 0,
    renewedAt: born ?? -1,
    trusted: new SparseMap(),
    applied: new Map(),
    seq: 0,
    unplaced: undefined,
    waiting: new SparseMap(),
    firstChangeAt: 0,
    lastChangeAt: 0,
    dueAt: 0,
    wrote: new SparseMap(),
    wroteAt: 0,
    reapplied: new SparseMap(),
    undelivered: new SparseMap(),
    templates: [workload.templateDigest],
    looks: [workload.fullTemplateDigest],
    writing: false,
    waiters: [],
    held: false,
    told: new SparseMap(),
  };
}

/** Whether nothing moved that could change what its pods run with, or what it asks for: a scale, for example. */
export function looksAlike(one: Workload, other: Workload): boolean {
  if (one.fullTemplateDigest !== other.fullTemplateDigest) return false;
  const keys = Object.keys(one.annotations);
  if (keys.length !== Object.keys(other.annotations).length) return false;
  return keys.every((key) => one.annotations[key] === other.annotations[key]);
}

/** Puts a digest at the end of a list of recent ones; true if it was not among them. */
export function remember(recent: string[], digest: string): boolean {
  const at = recent.indexOf(digest);
  if (at >= 0) recent.splice(at, 1);
  recent.push(digest);
  if (recent.length > MAX_TEMPLATES) recent.shift();
  return at < 0;
}

export const sourceId = (ref: { readonly kind: SourceRef['kind']; readonly name: string }): SourceId =>
  `${ref.kind}/${ref.name}`;

export function refOf(id: SourceId, namespace: string): SourceRef {
  const slash = id.indexOf('/');
  return { kind: id.slice(0, slash) as SourceRef['kind'], namespace, name: id.slice(slash + 1) };
}
