import type { Strategy } from '../asks/ask.ts';
import type { Applied, Lifecycle } from '../ledger/applied.ts';
import type { KeptTemplate } from '../ledger/record.ts';
import type { SourceId } from '../ledger/source-id.ts';
import type { KeptReloads } from './own-reloads.ts';
import type { TemplateTime } from './pod-data.ts';

/**
 * How a workload's newest object reached us. `list`: as it was found, whatever happened to it before; `watch`: at the very
 * moment of the change; `write`: the same, in the answer to our own request.
 */
export type SeenBy = 'list' | 'watch' | 'write';

export interface Sighting {
  readonly by: SeenBy;
  /** With a listing: the version up to which everything that happened to its kind was heard before. */
  readonly completeUpTo: number;
  /** The object carries a record that is newer than ours; its writer had heard everything up to `heardUpTo`. */
  readonly news: () => { readonly heardUpTo: number | undefined } | undefined;
  /** False while everything is still being listed for the first time: nothing is known about sources then. */
  readonly isFollowing: boolean;
}

/** What a newer version of the object brought. */
export interface Movement {
  /** First version at which it can have been so. */
  readonly moment: number;
  /** Something that rules read: annotations, references, template. */
  readonly isSpec: boolean;
  /** Template or annotations, so that what could not be written before may go now. */
  readonly isEdited: boolean;
  /** Every pod is of the present template now. */
  readonly isComplete: boolean;
}

/** What the past says about a workload as a whole. */
export interface Recalled {
  readonly seq: number;
  readonly reloads: KeptReloads;
  readonly templates:
    | { readonly kept: readonly KeptTemplate[]; readonly applied: ReadonlyMap<SourceId, Applied> }
    | undefined;
  /** There may have been other templates after this version. */
  readonly missedAfter: number | undefined;
  readonly template: TemplateTime | undefined;
}

/** What another writer of ours has written down, beside what it applied. */
export interface Adopted {
  readonly seq: number;
  readonly reloadedAt?: number | undefined;
}

/** How one source is to be compared with what the pods run with. */
export interface Comparison {
  /** How it is marked in the template; undefined: not at all. */
  readonly strategy: Strategy | undefined;
  readonly lifecycle: Lifecycle;
  /** What the pods began with, where we meet the source for the first time. */
  readonly begunWith: () => Applied;
  /** Then what the source held up to this version is no change, however late we hear of it. */
  readonly asOf?: number | undefined;
}
