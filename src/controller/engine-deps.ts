import type { KindName } from '../api/kinds.ts';
import type { SourceKind, SourceRef } from '../api/sources.ts';
import type { Applied, KeptLook, Lifecycle, SourceId } from '../domain/ledger.ts';
import type { Timing } from '../domain/plan.ts';
import type { Policy, Verdict } from '../domain/verdict.ts';
import type { WorkloadKey } from '../domain/workload.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Graph } from './graph.ts';
import type { Listed } from './listed.ts';
import type { SourceBook, Turn } from './source-book.ts';
import type { WorkloadState } from './workload-state.ts';

export type Strategy = 'env-vars' | 'annotations';

/** What the checkpoint remembers of a workload from before the start. */
export interface CheckpointEntry {
  readonly seq: number;
  readonly applied: Readonly<Partial<Record<SourceId, Applied>>>;
  /** Recent templates, newest last, and the revision, as they were when it was written. */
  readonly looks?: readonly KeptLook[] | undefined;
  readonly revision?: string | undefined;
  /** Pods were still being replaced: what changed afterwards is in some of them. */
  readonly coming?: true | undefined;
  /** For each kind of source the version up to which everything had been told to whoever wrote it. */
  readonly seen?: Readonly<Partial<Record<SourceKind, number>>> | undefined;
  /** Not all sources are mentioned: what is missing had nothing waiting. */
  readonly partial?: true | undefined;
}

export interface EngineDeps {
  readonly policy: Policy;
  readonly lifecycle: Lifecycle;
  readonly timing: Timing;
  readonly strategy: Strategy;
  /** Names the key of the fingerprints. */
  readonly keyId: string;
  readonly clock: Clock;
  /** Milliseconds since the epoch by the API server's clock. */
  readonly serverNow: () => number;
  readonly sources: SourceBook;
  readonly graph: Graph;
  readonly queue: {
    schedule(key: WorkloadKey, at: number): void;
    /** Its back-off is over; true if there was one. */
    release(key: WorkloadKey): boolean;
    remove(key: WorkloadKey): void;
  };
  readonly checkpoint: {
    /** False on a first start, after a loss, or after too long an absence: then nothing from the past is believed. */
    readonly believable: boolean;
    /** When it was last written, in milliseconds of the server's time. */
    readonly aliveAt: number;
    /** How far a kind of source had been heard of then, and the kind of a workload too. */
    seenOf(source: SourceKind, workload: KindName): number | undefined;
    entry(key: WorkloadKey, uid: string): CheckpointEntry | undefined;
    touch(key: WorkloadKey): void;
    completed(key: WorkloadKey): void;
    gone(key: WorkloadKey): void;
  };
  /** Whether the server's resource versions were seen to share one space over all kinds. */
  readonly sharedVersions: () => boolean;
  readonly inScope: (namespace: string) => boolean;
  readonly listed: Pick<Listed, 'has'>;
  /** Asks for the bytes of a source that was listed without them. */
  readonly want: (ref: SourceRef) => void;
  readonly report: {
    sourceChanged(ref: SourceRef, turn: Turn, verdicts: readonly (readonly [WorkloadState, Verdict])[]): void;
    settledByOther(state: WorkloadState, ref: SourceRef): void;
    reverted(state: WorkloadState, refs: readonly SourceRef[], again: boolean): void;
    problems(state: WorkloadState): void;
    queued(): void;
  };
}
