import { LAST_RELOADED_FROM } from '../../api/annotations.ts';
import { kindNamed } from '../../api/kinds.ts';
import type { SourceRef } from '../../api/sources.ts';
import { ABSENT, type Applied, UNKNOWN } from '../../domain/ledger/applied.ts';
import { carriesMark, parseLastReloadedFrom } from '../../domain/template/marks.ts';
import { firstRevision } from '../../domain/workload/rollout.ts';
import { type Workload, workloadKey } from '../../domain/workload/workload.ts';
import {
  type Look,
  lookOf,
  missedLooks,
  NO_RENEWAL,
  type Renewal,
  refOf,
  remember,
  sourceId,
  type WorkloadState,
} from '../../model/workload-state.ts';
import type { EngineDeps } from './engine-deps.ts';

type Deps = Pick<EngineDeps, 'sources' | 'strategy' | 'sharedVersions' | 'policy' | 'report' | 'checkpoint'>;

/** How a template came to be another than before. */
interface Move {
  readonly before: Workload;
  readonly when: Renewal;
  /** By us, or by another leader of ours. */
  readonly isOurs: boolean;
}

/** We are not alone: others edit templates too, bring changes before we do, or take our marks away. */
export class OtherWriters {
  readonly #deps: Deps;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /**
   * Stakater: the template's mark says whether the pods run with the current data. It cannot be trusted: another hand may
   * have brought other data since, and left the mark as it was.
   */
  settlesByMark(workload: Workload, ref: SourceRef, applied?: Applied): boolean {
    const { strategy, policy } = this.#deps;
    if (!policy.compat) return false;
    // Upstream's annotation is written for each event, and to be created is one.
    return !(strategy === 'annotations' && applied === ABSENT) && this.#isMarked(workload, ref);
  }

  #isMarked(workload: Workload, ref: SourceRef): boolean {
    const { sources, strategy } = this.#deps;
    const mark = sources.get(ref)?.fingerprint?.mark;
    return mark !== undefined && !sources.isAmbiguous(ref) && carriesMark(workload, ref, mark, strategy) === 'equal';
  }

  /**
   * The template is another than before, so there will be new pods, and they start with what the sources held at that
   * moment. Unless it is one that was there before: then pods from that time may still be running, and new ones beside
   * them. Nor does a template without our mark prove anything: it may be older than all that we know.
   */
  templateMoved(state: WorkloadState, { before, when, isOurs }: Move): void {
    const { workload } = state;
    const isEdited = before.templateDigest !== workload.templateDigest;
    const left = state.looks.at(-1);
    if (left) left.had ??= new Map(state.applied);
    const known = remember(state.looks, lookOf(workload, when.after));
    const isKnown = known.length > 0;
    const isReturn = isKnown || (!isOurs && state.unseenAfter !== undefined);
    const replacesPods = kindNamed(workload.ref.kind)?.effect === 'patch';
    if (isEdited) state.undelivered.clear();
    if (isEdited && !isKnown) {
      state.reapplied.clear();
      state.wrote.clear();
    }
    if (isReturn && replacesPods) this.#returned(state, known, when);
    const isReverted = !isOurs && !state.writing && this.noticeRevert(state);
    if (isReturn || !replacesPods || (isReverted && !isEdited)) return;
    state.renewal = this.#ordersMoments() ? when : NO_RENEWAL;
    if (this.#ordersMoments()) this.#renewed(state);
    if (!isOurs) this.#touch(state);
  }

  /** A listing shows a workload that was not there before. */
  found(state: WorkloadState, when: Renewal): void {
    if (this.#ordersMoments()) state.renewal = { ...when, base: firstRevision(state.workload.revision) };
    missedLooks(state, when.after);
  }

  /** New pods began with what there was when they were made, which need not be what there is now. */
  #renewed(state: WorkloadState): void {
    const { after, upTo } = state.renewal;
    for (const [id, applied] of state.applied) {
      const ref = refOf(id, state.workload.ref.namespace);
      if (applied === ABSENT || this.#deps.sources.since(ref) <= after) continue;
      state.applied.set(id, this.#deps.sources.during(ref, after, upTo));
    }
  }

  /** What a source held from a version on is not known: nor is what pods began with that were made since, or still are. */
  lostSight(state: WorkloadState, ref: SourceRef, from: number): void {
    const { renewal, applied, coming } = state;
    const id = sourceId(ref);
    const isMadeSince = !this.#deps.policy.compat && (renewal.upTo >= from || from < coming.to);
    if (!isMadeSince || !applied.has(id) || applied.get(id) === ABSENT) return;
    applied.set(id, UNKNOWN);
    this.#touch(state);
  }

  /** A Job was started from a CronJob, for all that had changed until then. */
  ran(state: WorkloadState, when: Renewal): void {
    if (this.#ordersMoments() && when.after >= state.renewal.after) state.renewal = when;
  }

  /** Whether new pods, whoever made them, run with this data already. */
  brought(state: WorkloadState, ref: SourceRef, current: Applied): boolean {
    const id = sourceId(ref);
    const applied = state.applied.get(id);
    if (current === ABSENT || current === UNKNOWN || applied === ABSENT || applied === current) return false;
    if (applied === undefined || state.renewal.after < this.#deps.sources.since(ref)) return false;
    // Its own creation is nobody else's rollout: the change only arrived late.
    if (state.renewal.after === state.born) return true;
    state.trusted.set(id, applied);
    this.#deps.report.tell({ is: 'settled-by-another-writer', workload: state.workload, sources: [ref] });
    return true;
  }

  /**
   * Whether pods may have begun with what a source held before, with what it holds now, or with anything in between: it
   * moved about when the template did, or while pods were being started. A way back to what it held changes nothing then.
   */
  isOpen({ applied, renewal, coming, workload }: WorkloadState, ref: SourceRef, current: Applied): boolean {
    const { policy, sources } = this.#deps;
    const before = applied.get(sourceId(ref));
    if (policy.compat || before === ABSENT || current === ABSENT || current === UNKNOWN) return false;
    if (!this.#ordersMoments()) return before !== current && !workload.isRolledOut;
    const since = sources.since(ref);
    const movedAt = sources.movedAt(ref);
    const isBeside = since > renewal.after && since <= renewal.upTo && before !== current;
    // Where nothing is known of the rollout itself, only what differs anyway can be open.
    const isAfter = renewal.upTo < 0 ? before !== current : movedAt > renewal.upTo;
    return isBeside || (isAfter && movedAt > coming.from && movedAt < coming.to);
  }

  /**
   * Our mark is gone though the template is the same: another writer undid the rollout. Once more, then never again.
   * True if there was such a mark.
   */
  noticeRevert(state: WorkloadState): boolean {
    const again: SourceRef[] = [];
    const never: SourceRef[] = [];
    for (const [id, mark] of state.wrote) {
      const ref = refOf(id, state.workload.ref.namespace);
      if (!this.#isTaken(state, ref, mark) || this.#isMarked(state.workload, ref)) continue;
      const current = this.#deps.sources.current(ref);
      const isAgain = state.reapplied.get(id) !== current;
      (isAgain ? again : never).push(ref);
      state.wrote.delete(id);
      state.applied.set(id, UNKNOWN);
      if (isAgain) state.reapplied.set(id, current);
      else state.undelivered.set(id, true);
    }
    const { workload } = state;
    if (again.length > 0) this.#deps.report.tell({ is: 'reverted', workload, sources: again });
    if (never.length > 0) this.#deps.report.tell({ is: 'undelivered', workload, sources: never });
    const isReverted = again.length + never.length > 0;
    const version = Number(state.workload.resourceVersion);
    if (isReverted) this.#returned(state, [], { after: version, upTo: version });
    return isReverted;
  }

  /**
   * Pods of these templates may be running again, and new ones as well: only what both have is known. What was trusted to
   * pods that may be on their way out is open in any case.
   */
  #returned(state: WorkloadState, looks: readonly Look[], { after, upTo }: Renewal): void {
    const { sources, policy } = this.#deps;
    for (const [id, applied] of policy.compat ? [] : state.applied) {
      if (applied === ABSENT) continue;
      const ref = refOf(id, state.workload.ref.namespace);
      const begun = this.#ordersMoments() ? sources.during(ref, after, upTo) : this.#unmoved(ref);
      const isOther =
        state.trusted.has(id) ||
        this.#isUnseen(state, ref) ||
        looks.some((look) => this.#hadBy(look, ref, upTo) !== begun);
      if (looks.length > 0 || state.unseenAfter !== undefined || isOther)
        state.applied.set(id, isOther ? UNKNOWN : begun);
    }
    state.trusted.clear();
    state.renewal = { after: -1, upTo, isReturn: true };
    // A record may still say that all is well; the checkpoint knows better.
    this.#touch(state);
  }

  /** Without an order, only what never moved is known to have been the same. */
  #unmoved(ref: SourceRef): Applied {
    const { sources } = this.#deps;
    return sources.movedAt(ref) === 0 ? sources.current(ref) : UNKNOWN;
  }

  /** Whether pods of templates that we did not see may have other data. */
  #isUnseen({ unseenAfter }: WorkloadState, ref: SourceRef): boolean {
    if (unseenAfter === undefined) return false;
    return this.#ordersMoments() ? this.#deps.sources.since(ref) > unseenAfter : this.#unmoved(ref) === UNKNOWN;
  }

  /**
   * What pods of a template run with that was left: some may have been started until now. News may have come late, and then
   * what we thought was wrong.
   */
  #hadBy({ had, since }: Look, ref: SourceRef, now: number): Applied {
    const { sources } = this.#deps;
    const before = had?.get(sourceId(ref)) ?? UNKNOWN;
    const movedAt = sources.movedAt(ref);
    if (movedAt === 0 || !this.#ordersMoments()) return before;
    if (since > 0) return sources.during(ref, since, now);
    return sources.isMovedBy(ref, now) ? UNKNOWN : before;
  }

  /** The template went there and back again after a version, and nobody saw when: pods may be from any time since. */
  leftUnseen(state: WorkloadState, after: number): void {
    const upTo = Number(state.workload.resourceVersion);
    const look = { ...lookOf(state.workload, after), had: new Map(state.applied) };
    missedLooks(state, after);
    this.#returned(state, [look], { after, upTo });
  }

  #touch({ workload: { ref } }: WorkloadState): void {
    this.#deps.checkpoint.touch(workloadKey(ref));
  }

  /** Whether versions can tell what came first. Upstream does not ask. */
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
