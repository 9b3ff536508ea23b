import { LAST_RELOADED_FROM } from '../api/annotations.ts';
import { kindNamed } from '../api/kinds.ts';
import type { SourceRef } from '../api/sources.ts';
import { ABSENT, type Applied, UNKNOWN } from '../domain/ledger.ts';
import { carriesMark, parseLastReloadedFrom } from '../domain/marks.ts';
import { type Workload, workloadKey } from '../domain/workload.ts';
import type { EngineDeps } from './engine-deps.ts';
import { refOf, remember, sourceId, type Unplaced, type WorkloadState } from './workload-state.ts';

type Deps = Pick<EngineDeps, 'sources' | 'strategy' | 'sharedVersions' | 'policy' | 'report' | 'checkpoint'>;

/** We are not alone: others edit templates too, bring changes before we do, or take our marks away. */
export class OtherWriters {
  readonly #deps: Deps;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Whether the template already says that the pods run with the current data. */
  marked(workload: Workload, ref: SourceRef, applied?: Applied): boolean {
    const { sources, strategy, policy } = this.#deps;
    // Upstream's annotation is written for each event, and to be created is one.
    if (policy.compat && strategy === 'annotations' && applied === ABSENT) return false;
    const mark = sources.get(ref)?.fingerprint?.mark;
    return mark !== undefined && !sources.isAmbiguous(ref) && carriesMark(workload, ref, mark, strategy) === 'equal';
  }

  /**
   * Somebody else edited the template, so there will be new pods, and they start with what the sources held at that
   * moment. Unless the template is one we saw before: then pods from before the change may still be running. An undefined
   * version: that moment is not known.
   */
  templateMoved(state: WorkloadState, version: number | undefined): void {
    const { workload } = state;
    const isNew = remember(state.templates, workload.templateDigest);
    state.renewedAt = isNew && this.#provesAge(workload) ? (version ?? -1) : -1;
    state.unplaced = undefined;
    state.undelivered.clear();
    if (isNew) {
      state.reapplied.clear();
      state.wrote.clear();
      return;
    }
    this.#distrust(state);
    this.noticeRevert(state);
  }

  /** Our own write makes new pods as well: what changed before it, and is only heard of later, is in them. */
  wroteOurselves(state: WorkloadState, isNewLook: boolean): void {
    state.unplaced = undefined;
    if (isNewLook && this.#provesAge(state.workload)) state.renewedAt = Number(state.workload.resourceVersion);
  }

  /** Somebody of ours wrote, but when? */
  wroteSometime(state: WorkloadState, unplaced: Unplaced): void {
    state.unplaced = unplaced;
    state.renewedAt = -1;
  }

  /** A Job was started from a CronJob, for all that had changed until then. */
  ran(state: WorkloadState, version: number): void {
    state.unplaced = undefined;
    if (this.#ordersMoments()) state.renewedAt = Math.max(state.renewedAt, version);
  }

  /** Whether new pods of another hand's making run with this data already. */
  brought(state: WorkloadState, ref: SourceRef, current: Applied): boolean {
    const id = sourceId(ref);
    const applied = state.applied.get(id);
    if (current === ABSENT || current === UNKNOWN || applied === ABSENT || applied === current) return false;
    if (applied === undefined || state.renewedAt < this.#deps.sources.since(ref)) return false;
    // Its own creation is nobody else's rollout: the change only arrived late.
    if (state.renewedAt === state.born) return true;
    state.trusted.set(id, applied);
    this.#deps.report.settledByOther(state, ref);
    return true;
  }

  /** Our mark is gone though the template is the same: another writer undid the rollout. Once more, then never again. */
  noticeRevert(state: WorkloadState): void {
    for (const [id, mark] of state.wrote) {
      const ref = refOf(id, state.workload.ref.namespace);
      if (!this.#isTaken(state, ref, mark) || this.marked(state.workload, ref)) continue;
      const current = this.#deps.sources.current(ref);
      const again = state.reapplied.get(id) !== current;
      state.wrote.delete(id);
      state.applied.set(id, UNKNOWN);
      // Its record still says that all is well; the checkpoint knows better.
      this.#deps.checkpoint.touch(workloadKey(state.workload.ref));
      if (again) state.reapplied.set(id, current);
      else state.undelivered.set(id, true);
      this.#distrust(state);
      this.#deps.report.reverted(state, ref, again);
    }
  }

  /** What was trusted to new pods is open again: they may be on their way out. */
  #distrust(state: WorkloadState): void {
    for (const [id, applied] of state.trusted) state.applied.set(id, applied);
    state.trusted.clear();
    state.renewedAt = -1;
    state.unplaced = undefined;
  }

  /** Whether an edit of the template replaces pods, and versions can tell when. */
  #provesAge(workload: Workload): boolean {
    const replacesPods = kindNamed(workload.ref.kind)?.effect === 'patch';
    return replacesPods && this.#ordersMoments();
  }

  #ordersMoments(): boolean {
    return this.#deps.sharedVersions() && !this.#deps.policy.compat;
  }

  #isTaken({ workload, wroteAt }: WorkloadState, ref: SourceRef, mark: string): boolean {
    if (this.#deps.strategy === 'env-vars') {
      const carries = carriesMark(workload, ref, mark, 'env-vars');
      return carries === 'missing' || carries === 'different';
    }
    // A later reload, whoever made it and whatever for, brought newer pods.
    const text = workload.templateAnnotations[LAST_RELOADED_FROM];
    return text === undefined || (parseLastReloadedFrom(text)?.observedAt ?? 0) < wroteAt;
  }
}
