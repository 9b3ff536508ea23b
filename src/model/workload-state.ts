import type { SourceRef } from '../api/sources.ts';
import type { Applied } from '../domain/ledger/applied.ts';
import type { KeptTemplate } from '../domain/ledger/record.ts';
import type { SourceId } from '../domain/ledger/source-id.ts';
import { tellsRollout } from '../domain/workload/rollout.ts';
import type { Workload } from '../domain/workload/workload.ts';
import { SparseMap } from '../domain/state/sparse-map.ts';

/**
 * When, in the server's time, the template came into being that the pods are made of: after one version, and not after
 * another. All pods are newer than `after`. Between the two only the server's history can tell.
 */
export interface Renewal {
  readonly after: number;
  readonly upTo: number;
  /** The Job that was started then, where pods come from Jobs. */
  readonly job?: string | undefined;
  /** The workload's revision at that end of the time, where somebody may have edited the template more than once. */
  readonly base?: string | undefined;
  /** It is a template that was there before: older pods may be among them, and no order proves otherwise. */
  readonly isReturn?: true;
}

/** Nothing is known about the age of pods. */
export const NO_RENEWAL: Renewal = { after: -1, upTo: -1 };

/** A template that a workload was seen to have. */
export interface Look {
  readonly full: string;
  readonly bare: string;
  /** Resource version at which it first was so, at the earliest; 0: it was found so. */
  readonly since: number;
  /** What its pods ran with when it was left for another, as far as was known then. */
  had?: ReadonlyMap<SourceId, Applied> | undefined;
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
  /** How old its pods are at most. */
  renewal: Renewal;
  /** When pods were last started, in the server's time; without an end while they are. */
  coming: { readonly from: number; readonly to: number };
  /** What was settled by such a renewal, with what was applied before. */
  readonly trusted: SparseMap<SourceId, Applied>;
  /** What its pods run with, for each source that would roll it. */
  readonly applied: Map<SourceId, Applied>;
  /** Number of its newest record. */
  seq: number;
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
  /** Templates of which pods may be left, newest last: going back to one of them proves nothing about the age of pods. */
  readonly looks: Look[];
  /** The revision that its controller will count as soon as it has seen the newest of them. */
  revisionDue: string | undefined;
  /**
   * After this version there may have been others that we did not see, and pods of them may still be there: the next write
   * has to make one that certainly never was, and what another hand makes may be one of them.
   */
  unseenAfter: number | undefined;
  /** Our write is on its way: what is seen meanwhile says nothing about it. */
  writing: boolean;
  /** Who waits for the next version of the object. */
  readonly waiters: (() => void)[];
  /** Nothing is written before its annotations change: one of them cannot be read. */
  held: boolean;
}

const MAX_LOOKS = 8;

export function newState(workload: Workload, born: number | undefined, foundAfter = 0): WorkloadState {
  return {
    workload,
    born,
    foundAfter,
    since: born ?? 0,
    renewal: born === undefined ? NO_RENEWAL : { after: born, upTo: born },
    coming: { from: born ?? 0, to: workload.isRolledOut ? 0 : Number.POSITIVE_INFINITY },
    trusted: new SparseMap(),
    applied: new Map(),
    seq: 0,
    waiting: new SparseMap(),
    firstChangeAt: 0,
    lastChangeAt: 0,
    dueAt: 0,
    wrote: new SparseMap(),
    wroteAt: 0,
    reapplied: new SparseMap(),
    undelivered: new SparseMap(),
    looks: [lookOf(workload, born ?? foundAfter)],
    revisionDue: undefined,
    unseenAfter: undefined,
    writing: false,
    waiters: [],
    held: false,
  };
}

/** Every pod is of the present template: of those before there is none left. */
export function forgetOtherLooks(state: WorkloadState): void {
  state.looks.splice(0, state.looks.length - 1);
  state.unseenAfter = undefined;
}

/** Templates may have come and gone after a version, and pods of them may still be there. */
export function missedLooks(state: WorkloadState, after: number): void {
  const { ref, isRolledOut } = state.workload;
  if (!isRolledOut || !tellsRollout(ref.kind)) state.unseenAfter = after;
}

/** Whether nothing moved that could change what its pods run with, or what it asks for: a scale, for example. */
export function looksAlike(one: Workload, other: Workload): boolean {
  if (one.fullTemplateDigest !== other.fullTemplateDigest) return false;
  const keys = Object.keys(one.annotations);
  if (keys.length !== Object.keys(other.annotations).length) return false;
  return keys.every((key) => one.annotations[key] === other.annotations[key]);
}

const LOOK_DIGITS = 10;

/** Few letters are enough to tell a workload's templates from one another. */
export const shortLook = (digest: string): string => digest.slice(0, LOOK_DIGITS);

export const lookOf = ({ fullTemplateDigest, templateDigest }: Workload, since: number): Look => ({
  full: shortLook(fullTemplateDigest),
  bare: shortLook(templateDigest),
  since,
});

/**
 * Remembers the template of a workload as the newest, and gives back those that it was before: the same with the same marks
 * or, where somebody else edited it, the same with whatever marks.
 */
export function remember(looks: Look[], look: Look): readonly Look[] {
  const last = looks.at(-1);
  const isSame = ({ full, bare }: Look): boolean => full === look.full || (bare === look.bare && last?.bare !== bare);
  const known = looks.filter(isSame);
  const at = looks.findIndex(({ full }) => full === look.full);
  const [former] = at < 0 ? [] : looks.splice(at, 1);
  looks.push({ ...look, since: former?.since ?? look.since });
  if (looks.length > MAX_LOOKS) looks.shift();
  return known;
}

const KEPT_LOOKS = 4;

/** What the ledger remembers of recent templates. */
export const keptLooks = (looks: readonly Look[]): readonly KeptTemplate[] =>
  looks.slice(-KEPT_LOOKS).map(({ full, since }) => [full, since]);

export const sourceId = (ref: { readonly kind: SourceRef['kind']; readonly name: string }): SourceId =>
  `${ref.kind}/${ref.name}`;

export function refOf(id: SourceId, namespace: string): SourceRef {
  const slash = id.indexOf('/');
  return { kind: id.slice(0, slash) as SourceRef['kind'], namespace, name: id.slice(slash + 1) };
}
