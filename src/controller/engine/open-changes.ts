import type { SourceRef } from '../../api/sources.ts';
import type { Verdict } from '../../domain/judge/verdict.ts';
import { ABSENT, type Applied, compare, lifecycleOf, UNKNOWN } from '../../domain/ledger/applied.ts';
import type { SourceId } from '../../domain/ledger/source-id.ts';
import { dueAt, timingOf } from '../../domain/plan/plan.ts';
import { type WorkloadKey, workloadKey } from '../../domain/workload/workload.ts';
import { staysOpen } from '../../model/concerns.ts';
import { sourceId, type WorkloadState } from '../../model/workload-state.ts';
import type { EngineDeps } from './engine-deps.ts';
import type { OtherWriters } from './other-writers.ts';

type Deps = Pick<
  EngineDeps,
  'sources' | 'listed' | 'want' | 'lifecycle' | 'clock' | 'timing' | 'queue' | 'report' | 'checkpoint'
>;

/** What pods run with against what there is: a difference waits, and its workload becomes due. */
export class OpenChanges {
  readonly #deps: Deps;
  readonly #others: OtherWriters;

  constructor(deps: Deps, others: OtherWriters) {
    this.#deps = deps;
    this.#others = others;
  }

  /** `past`: what the pods began with, where we meet the source for the first time. */
  consider(state: WorkloadState, ref: SourceRef, verdict: Verdict, past: () => Applied): void {
    const id = sourceId(ref);
    if (!staysOpen(verdict)) {
      this.forget(state, id);
      return;
    }
    const current = this.#deps.sources.current(ref);
    if (current === ABSENT && !this.#deps.listed.has(ref)) return;
    if (!state.applied.has(id)) {
      const then = past();
      // Nobody has looked at it yet: what the pods began with will be known when it is read.
      if (then === UNKNOWN && current === UNKNOWN) {
        this.#deps.want(ref);
        return;
      }
      this.settle(state, id, then);
    }
    this.#weigh(state, ref, current);
  }

  /** What the pods run with, after all that is known about them, against what there is. */
  #weigh(state: WorkloadState, ref: SourceRef, current: Applied): void {
    const id = sourceId(ref);
    if (this.#others.settlesByMark(state.workload, ref, state.applied.get(id))) this.settle(state, id, current);
    else if (this.#others.brought(state, ref, current)) this.settle(state, id, current);
    else if (this.#others.isOpen(state, ref, current)) state.applied.set(id, UNKNOWN);
    const lifecycle = lifecycleOf(ref.kind, this.#deps.lifecycle);
    const difference = compare(state.applied.get(id) ?? UNKNOWN, current, lifecycle);
    if (difference === 'unread') this.#deps.want(ref);
    else if (difference === 'settle') this.settle(state, id, current);
    else if (difference === 'same' || difference === 'keep') state.waiting.delete(id);
    else this.#wait(state, id, current);
  }

  #wait(state: WorkloadState, id: SourceId, current: Applied): void {
    if (state.undelivered.has(id) && state.reapplied.get(id) === current) return;
    if (state.waiting.get(id) === current) return;
    const now = this.#deps.clock.now();
    if (state.waiting.size === 0) state.firstChangeAt = now;
    state.lastChangeAt = now;
    // Deleted first: the map's order is the order of the newest change of each.
    state.waiting.delete(id);
    state.waiting.set(id, current);
    state.undelivered.delete(id);
    this.schedule(workloadKey(state.workload.ref), state);
  }

  schedule(key: WorkloadKey, state: WorkloadState): void {
    const at = dueAt(state.firstChangeAt, state.lastChangeAt, timingOf(state.workload.intent, this.#deps.timing));
    state.dueAt = at;
    this.#deps.report.queued();
    this.#deps.queue.schedule(key, at);
  }

  /** From now on this counts as what the pods run with. */
  settle(state: WorkloadState, id: SourceId, applied: Applied): void {
    state.waiting.delete(id);
    state.undelivered.delete(id);
    if (state.applied.get(id) === applied) return;
    state.applied.set(id, applied);
    this.#deps.checkpoint.touch(workloadKey(state.workload.ref));
  }

  /** It does not concern the workload any more. */
  forget(state: WorkloadState, id: SourceId): void {
    state.waiting.delete(id);
    state.undelivered.delete(id);
    if (state.applied.delete(id)) this.#deps.checkpoint.touch(workloadKey(state.workload.ref));
  }
}
