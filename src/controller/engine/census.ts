import type { AnnotationKeys } from '../../api/annotations.ts';
import { kindNamed } from '../../api/kinds.ts';
import type { SourceRef } from '../../api/sources.ts';
import { actionFor } from '../../domain/judge/effect.ts';
import type { Policy } from '../../domain/judge/verdict.ts';
import { UNKNOWN } from '../../domain/ledger/applied.ts';
import type { WorkloadState } from '../../domain/state/workload-state.ts';
import { concernsOf, type Known, staysOpen } from '../../model/concerns.ts';
import type { Engine } from './engine.ts';

export interface Pending {
  /** Workloads with a change that is not written yet, whatever it waits for. */
  readonly waiting: number;
  /** These, and those whose pods a pause of ours keeps from what is written. */
  readonly pending: number;
  /** Changes that another writer keeps undoing: they wait for nothing that we could do. */
  readonly undelivered: number;
}

/** What has not arrived. */
export function pendingIn(states: Iterable<WorkloadState>, keys: AnnotationKeys): Pending {
  let waiting = 0;
  let pending = 0;
  let undelivered = 0;
  for (const { waiting: changes, undelivered: given, workload } of states) {
    const isHeld = workload.paused && workload.annotations[keys.pausedAt] !== undefined;
    if (changes.size > 0) waiting += 1;
    if (changes.size > 0 || isHeld) pending += 1;
    undelivered += given;
  }
  return { waiting, pending, undelivered };
}

/** Every source that some workload would roll for, and whose bytes nobody has read yet. */
export function* unreadIn({ states, verdicts }: Engine, deps: Known): Generator<SourceRef> {
  for (const { workload, applied } of states.values()) {
    for (const ref of concernsOf(deps, workload.ref, applied.keys())) {
      if (deps.sources.current(ref) === UNKNOWN && staysOpen(verdicts.of(workload, ref))) yield ref;
    }
  }
}

/** How many workloads something would happen to if one of their sources changed. */
export function askingIn({ states, verdicts }: Engine, deps: Known & { readonly policy: Policy }): number {
  let count = 0;
  for (const state of states.values()) if (asks(state)) count += 1;
  return count;

  function asks(state: WorkloadState): boolean {
    const kind = kindNamed(state.workload.ref.kind);
    for (const ref of kind ? concernsOf(deps, state.workload.ref, state.applied.keys()) : []) {
      const verdict = verdicts.of(state.workload, ref);
      if (kind && verdict.reload && actionFor(kind, state.workload, [verdict], deps.policy) !== 'none') return true;
    }
    return false;
  }
}
