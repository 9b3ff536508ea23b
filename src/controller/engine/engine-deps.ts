import type { KindName } from '../../api/kinds.ts';
import type { SourceKind, SourceRef } from '../../api/sources.ts';
import type { Policy, Verdict } from '../../domain/judge/verdict.ts';
import type { Lifecycle } from '../../domain/ledger/ledger.ts';
import type { Timing } from '../../domain/plan/plan.ts';
import type { WorkloadKey } from '../../domain/workload/workload.ts';
import type { CheckpointEntry } from '../../model/ledger/shard.ts';
import type { Listed } from '../../model/listed.ts';
import type { ReverseIndex } from '../../model/reverse-index.ts';
import type { SourceChange, SourceHistory } from '../../model/sources/source-history.ts';
import type { WorkloadState } from '../../model/workload-state.ts';
import type { Clock } from '../../runtime/clock.ts';

export type Strategy = 'env-vars' | 'annotations';

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
  readonly sources: SourceHistory;
  readonly graph: ReverseIndex;
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
    sourceChanged(ref: SourceRef, turn: SourceChange, verdicts: readonly (readonly [WorkloadState, Verdict])[]): void;
    settledByOther(state: WorkloadState, ref: SourceRef): void;
    reverted(state: WorkloadState, refs: readonly SourceRef[], again: boolean): void;
    problems(state: WorkloadState): void;
    queued(): void;
  };
}
