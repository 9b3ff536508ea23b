import type { SourceRef } from '../../api/sources.ts';
import type { Verdict } from '../judge/verdict.ts';
import { compare, type Lifecycle, lifecycleOf } from '../ledger/applied.ts';
import { refOf, type SourceId } from '../ledger/source-id.ts';
import type { Change } from '../outcome/change.ts';
import type { SourcePast } from '../state/source-past.ts';
import type { WorkloadState } from '../state/workload-state.ts';

export interface DueFacts {
  readonly sources: SourcePast;
  readonly lifecycle: Lifecycle;
  readonly verdictOn: (ref: SourceRef) => Verdict;
}

export interface DueChanges {
  /** What is still different now, in the order in which it changed. */
  readonly changes: readonly Change[];
  /** What no longer has to wait. */
  readonly over: readonly SourceId[];
  /** An annotation that must not be guessed cannot be read. */
  readonly isBlocked: boolean;
}

/** What waits for a workload, looked at once more: data and annotations may have changed since. */
export function dueChanges(state: WorkloadState, { sources, lifecycle, verdictOn }: DueFacts): DueChanges {
  const changes: Change[] = [];
  const over: SourceId[] = [];
  for (const id of state.waiting.keys()) {
    const ref = refOf(id, state.workload.ref.namespace);
    const current = sources.current(ref);
    const verdict = verdictOn(ref);
    const asked = lifecycleOf(ref.kind, lifecycle, verdict.reload ? verdict.ask.overrides : undefined);
    const difference = compare(state.applied.get(id) ?? current, current, asked);
    const isReason = difference === 'changed' || difference === 'created' || difference === 'deleted';
    if (isReason && verdict.reload) {
      const mark = difference === 'deleted' ? undefined : sources.get(ref)?.fingerprint?.mark;
      changes.push({ id, ref, verdict, difference, current, since: sources.since(ref), mark });
    } else if (isReason && !verdict.reload && verdict.because === 'invalid-annotation') {
      return { changes: [], over, isBlocked: true };
    } else {
      // Where it has to be read first, the answer makes it wait anew.
      over.push(id);
    }
  }
  return { changes, over, isBlocked: false };
}
