import type { SourceRef } from '../../api/sources.ts';
import type { Policy, Verdict } from '../../domain/judge/verdict.ts';
import type { Lifecycle } from '../../domain/ledger/applied.ts';
import type { Outcome } from '../../domain/outcome/outcome.ts';
import type { Timing } from '../../domain/plan/timing.ts';
import type { StateRules } from '../../domain/state/source-past.ts';
import type { Workload, WorkloadKey } from '../../domain/workload/workload.ts';
import type { Known } from '../../model/concerns.ts';
import type { EvidenceDeps } from '../../model/evidence.ts';
import type { PastRecordsDeps } from '../../model/ledger/past-records.ts';
import type { Listed } from '../../model/listed.ts';
import type { ReloaderConfigs } from '../../model/reloader-configs/reloader-configs.ts';
import type { SourceChange } from '../../model/sources/source-history.ts';
import type { Clock } from '../../runtime/clock.ts';

export interface EngineDeps extends Known, Pick<EvidenceDeps, 'serverNow' | 'sharedVersions'> {
  readonly listed: Pick<Listed, 'has' | 'places'>;
  readonly policy: Policy;
  /** What is asked for workloads beside their own annotations. */
  readonly configs: Pick<ReloaderConfigs, 'asksFor' | 'askedFrom' | 'expressions' | 'names'>;
  readonly configHash: StateRules['configHash'];
  readonly lifecycle: Lifecycle;
  readonly timing: Timing;
  /** Names the key of the fingerprints. */
  readonly keyId: string;
  readonly clock: Clock;
  readonly queue: {
    schedule(key: WorkloadKey, at: number): void;
    /** Its back-off is over; true if there was one. */
    release(key: WorkloadKey): boolean;
    remove(key: WorkloadKey): void;
  };
  readonly checkpoint: EvidenceDeps['checkpoint'] &
    PastRecordsDeps['checkpoint'] & {
      touch(key: WorkloadKey): void;
      completed(key: WorkloadKey): void;
      gone(key: WorkloadKey): void;
    };
  /** Asks for the bytes of a source that was listed without them. */
  readonly want: (ref: SourceRef) => void;
  readonly report: {
    sourceChanged(ref: SourceRef, change: SourceChange, verdicts: readonly (readonly [Workload, Verdict])[]): void;
    tell(outcome: Outcome): void;
    queued(): void;
    /** What was told about it is no longer needed. */
    forget(workload: Workload): void;
  };
}
