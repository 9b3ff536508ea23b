import type { SourceRef } from '../../api/sources.ts';
import type { Verdict } from '../judge/verdict.ts';
import type { Applied, Difference } from '../ledger/applied.ts';
import type { SourceId } from '../ledger/source-id.ts';

/** One source whose change is to reach one workload. */
export interface Change {
  readonly id: SourceId;
  readonly ref: SourceRef;
  readonly verdict: Extract<Verdict, { reload: true }>;
  readonly difference: Difference;
  readonly current: Applied;
  /** Resource version from which on it is so. */
  readonly since: number;
  /** Undefined: the source is gone. */
  readonly mark: string | undefined;
}
