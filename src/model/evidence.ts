import type { SourceKind, SourceRef } from '../api/sources.ts';
import type { Strategy } from '../domain/asks/ask.ts';
import type { Policy, Verdict } from '../domain/judge/verdict.ts';
import { ABSENT, type Applied, UNKNOWN } from '../domain/ledger/applied.ts';
import { believe, type Word } from '../domain/ledger/believe.ts';
import { sourceId } from '../domain/ledger/source-id.ts';
import { isSettledByMark } from '../domain/state/own-marks.ts';
import type { TemplateTime } from '../domain/state/pod-data.ts';
import { isOrdered, type StateRules } from '../domain/state/source-past.ts';
import type { Recalled } from '../domain/state/transitions.ts';
import type { WorkloadState } from '../domain/state/workload-state.ts';
import { parseTime } from '../domain/text/rfc3339.ts';
import { firstRevision, revisionBefore } from '../domain/workload/rollout.ts';
import { type Workload, type WorkloadKey, workloadKey } from '../domain/workload/workload.ts';
import { appliedIn, type Kept, type PastRecords, templateIn } from './ledger/past-records.ts';
import type { Listed } from './listed.ts';
import type { SourceChange, SourceHistory } from './sources/source-history.ts';

export interface EvidenceDeps extends Omit<StateRules, 'sources' | 'lendsTemplate'> {
  readonly sources: SourceHistory;
  readonly records: PastRecords;
  readonly checkpoint: {
    readonly believable: boolean;
    /** When what it says of a workload was last written, in milliseconds of the server's time. */
    aliveAt(workload: WorkloadKey): number;
    /** How far a kind of source had been heard of then, and the kind of the workload too. */
    seenOf(source: SourceKind, workload: WorkloadKey): number | undefined;
  };
  readonly listed: Pick<Listed, 'has'>;
  /** Milliseconds since the epoch by the API server's clock. */
  readonly serverNow: () => number;
}

/** How a change is to be marked, and since when somebody asks for it. */
export interface Wish {
  /** Undefined: not at all, the template stays as it is. */
  readonly strategy: Strategy | undefined;
  /** RFC 3339; undefined: as long as the workload exists. */
  readonly askedSince?: string | undefined;
}

export function wishOf(verdict: Verdict, { reloadStrategy }: Pick<Policy, 'reloadStrategy'>): Wish {
  if (!verdict.reload) return { strategy: reloadStrategy };
  const { strategy, ask, askedSince } = verdict;
  return { strategy: ask.overrides.rolloutStrategy === 'restart' ? undefined : strategy, askedSince };
}

// The ledger is written within a second, times have no fractions, and the server's is known to a second.
const LEDGER_LAG_MS = 3000;
const CLOCKS_APART_S = 10;
// As long as a rollout may take before Kubernetes calls it failed.
const ROLLOUT_S = 600;

/** What speaks for what the pods of a workload began with: marks, records, the checkpoint, the order of versions. */
export class Evidence {
  readonly #deps: EvidenceDeps;
  /**
   * From this second on things are of our time, by the server's clock and with some allowance: there may be several servers.
   * It begins with the first listing, for it may be long until everything is listed.
   */
  readonly #beganAt: number;

  constructor(deps: EvidenceDeps) {
    this.#deps = deps;
    this.#beganAt = Math.floor(deps.serverNow() / 1000) - CLOCKS_APART_S;
  }

  /** What the past says about a workload as a whole: the number of its newest record, and how old its pods are. */
  recalled(workload: Workload): Recalled {
    const { records } = this.#deps;
    const { entry, record } = records.of(workload);
    const kept = records.newestOf(workload);
    const way = records.wayOf(workload, kept);
    const upTo = Number(workload.resourceVersion);
    // Somebody took a mark away, or went back: what the checkpoint does not know is not known from elsewhere either.
    const isOpen = Object.values(entry?.applied ?? {}).includes(UNKNOWN);
    const seq = Math.max(record?.seq ?? 0, entry?.seq ?? 0);
    const isKnown = !isOpen && isOrdered(this.#deps);
    const isReturn = way === 'back' || (way === 'new' && kept?.unseen !== undefined);
    return {
      seq,
      reloads: records.reloadsOf(workload),
      templates: kept?.looks && { kept: kept.looks, applied: appliedIn(kept) },
      missedAfter: way === 'same' ? kept?.unseen : Math.min(kept?.heardUpTo() ?? -1, kept?.unseen ?? upTo),
      template: isReturn ? { after: -1, upTo, isReturn } : isKnown ? this.#templateTime(workload, seq) : undefined,
    };
  }

  /** When its pods were made at the earliest, where that is known. */
  #templateTime(workload: Workload, seq: number): TemplateTime | undefined {
    const { records, checkpoint } = this.#deps;
    const record = checkpoint.believable ? records.recordOf(workload) : undefined;
    if (record !== undefined && record.seq === seq)
      return { ...records.templateTime(workload, record), base: record.revision && revisionBefore(record.revision) };
    const kept = records.newestOf(workload);
    if (records.wayOf(workload, kept) === 'same') return undefined;
    const base = kept ? kept.revision : firstRevision(workload.revision);
    return { after: -1, upTo: Number(workload.resourceVersion), base };
  }

  /** What is known of a workload that a listing shows, and that was not there up to a version. */
  found({ revision, resourceVersion }: Workload, after: number): Recalled {
    const time = { after, upTo: Number(resourceVersion), base: firstRevision(revision) };
    return {
      seq: 0,
      reloads: {},
      templates: undefined,
      missedAfter: after,
      template: isOrdered(this.#deps) ? time : undefined,
    };
  }

  /** What a workload that was there before us runs with. */
  about(workload: Workload, ref: SourceRef, wish: Wish): Applied {
    const { sources, compat, records } = this.#deps;
    const { strategy, askedSince } = wish;
    const { entry, record } = records.of(workload);
    const isSaid = [entry, record].some((kept) => kept && !this.#isUnheardOf(kept, workload, ref, wish));
    return believe({
      markIsCurrent: isSettledByMark(workload, ref, { strategy }, this.#deps),
      compat,
      current: sources.current(ref),
      record: record && this.#word(record, workload, ref, wish),
      checkpoint: entry && this.#word(entry, workload, ref, wish),
      baseline: isSaid ? sources.atListing(ref) : this.#baseline(workload, ref, askedSince),
    }).applied;
  }

  /** What a workload began with of which nothing was written down. */
  #baseline(workload: Workload, ref: SourceRef, askedSince = ''): Applied {
    const { checkpoint, sources } = this.#deps;
    const since = askedSince > workload.createdAt ? askedSince : workload.createdAt;
    if (this.#isMissed(workload.ref, since, ref)) return UNKNOWN;
    const { editedAt, bornAt = '' } = sources.get(ref) ?? {};
    // Of one second nobody can tell, and it is usual to make both at once.
    const isBornLater = checkpoint.believable && editedAt === undefined && bornAt > since;
    return isBornLater ? ABSENT : sources.atListing(ref);
  }

  /** What was written down, and whether it is still so: pods may have been made since, of data that was written since. */
  #word(kept: Kept, workload: Workload, ref: SourceRef, wish: Wish): Word {
    const { strategy } = wish;
    const { sources } = this.#deps;
    const applied = kept.applied[sourceId(ref, workload.ref.namespace)];
    const since = sources.since(ref);
    // Since when it is gone nobody knows; where that counts, pods from before may have it.
    const isGone = strategy === 'config-hash' && sources.current(ref) === ABSENT;
    const lately = isGone ? Number.POSITIVE_INFINITY : since;
    const isEdited = since > (kept.heardUpTo(ref.kind) ?? Number.POSITIVE_INFINITY);
    const isUnmentioned = applied === undefined && kept.partial === true;
    const way = this.#deps.records.wayOf(workload, kept);
    const template = way === 'back' ? templateIn(kept, workload) : undefined;
    // Pods of an earlier template may be running again, with what there was at its time.
    const isBefore = template !== undefined && template !== kept.looks?.at(-1) && lately > template[1];
    // The same goes for templates that nobody saw: what is there now may be one of them.
    const isUnseen = way !== 'same' && kept.unseen !== undefined && lately > kept.unseen;
    const isUnheardOf = this.#isUnheardOf(kept, workload, ref, wish);
    const isOpen = isUnmentioned || way !== 'same' || this.#isComing(kept, ref, strategy);
    return { seq: kept.seq, applied, isOvertaken: isBefore || isUnseen || (isEdited && isOpen && !isUnheardOf) };
  }

  /** Whether nobody asked for a source when this was written: what came before that is no change. */
  #isUnheardOf({ applied, partial }: Kept, { ref: of }: Workload, ref: SourceRef, { askedSince }: Wish): boolean {
    const isMentioned = applied[sourceId(ref, of.namespace)] !== undefined || partial === true;
    if (isMentioned || askedSince === undefined) return false;
    return (parseTime(askedSince) ?? 0) * 1000 > this.#deps.checkpoint.aliveAt(workloadKey(of)) - LEDGER_LAG_MS;
  }

  /** Whether pods may have been starting when the source was written last. A record is written as a rollout begins. */
  #isComing({ coming, at }: Kept, ref: SourceRef, strategy: Wish['strategy']): boolean {
    const source = this.#deps.sources.get(ref);
    const bornAt = strategy === 'config-hash' ? source?.bornAt : undefined;
    const editedAt = parseTime(source?.editedAt ?? bornAt ?? '');
    if (at === undefined || editedAt === undefined) return coming === true;
    return editedAt >= at - CLOCKS_APART_S && editedAt <= at + ROLLOUT_S;
  }

  /**
   * Whether a workload that the ledger had no time to learn of, or what is asked for it, was overtaken by a change while
   * nobody was there. Of two events in the same second the change counts as the later.
   */
  #isMissed(workload: Workload['ref'], beganAt: string, ref: SourceRef): boolean {
    const { checkpoint, sources, sharedVersions } = this.#deps;
    const { editedAt, bornAt } = sources.get(ref) ?? {};
    // An edit in the very second of the creation leaves no time of its own.
    const writtenAt = editedAt ?? bornAt;
    if (!checkpoint.believable || writtenAt === undefined || writtenAt < beganAt) return false;
    const key = workloadKey(workload);
    const aliveAt = checkpoint.aliveAt(key);
    const writtenMs = (parseTime(writtenAt) ?? 0) * 1000;
    // Made after the ledger was written last: that is no edit.
    if (editedAt === undefined && writtenMs > aliveAt) return false;
    const seen = checkpoint.seenOf(ref.kind, key);
    if (seen !== undefined && sharedVersions()) return sources.since(ref) > seen;
    return writtenMs >= aliveAt - LEDGER_LAG_MS;
  }

  /** What a source held at a version; without one row of versions for all kinds, what it holds now. */
  at(ref: SourceRef, version: number): Applied {
    const { sources, sharedVersions } = this.#deps;
    return sharedVersions() ? sources.at(ref, version) : sources.current(ref);
  }

  /**
   * What a workload began with that a listing has only now shown, and `then` is what there was at its last version. That
   * is the last place in the server's order where it can have begun, not the first: a change that we saw may have come
   * before it and after the creation, and seconds have to tell. What came before our time is no reason to roll.
   */
  whenFound({ workload: { createdAt }, foundAfter }: WorkloadState, ref: SourceRef, then: Applied): Applied {
    const { sources } = this.#deps;
    const source = sources.get(ref);
    // It was there, and may have been when the workload began.
    if (!source && sources.movedAt(ref) > foundAfter) return UNKNOWN;
    const { bornAt = '' } = source ?? {};
    // An edit in the very second of the creation leaves no time of its own, but it was seen.
    const editedAt = source?.editedAt ?? (sources.formerly(ref) === UNKNOWN ? bornAt : undefined);
    // Within one second a source is created before who uses it, and edited afterwards.
    const isLater = editedAt === undefined ? bornAt > createdAt : editedAt >= createdAt;
    const isMoved = sources.since(ref) > foundAfter && isLater && this.isOfOurTime(ref);
    const before = isMoved ? sources.formerly(ref) : undefined;
    // Edited, and perhaps nobody has seen what there was before.
    if (isMoved && editedAt !== undefined) return before ?? UNKNOWN;
    return before ?? (then === UNKNOWN ? sources.current(ref) : then);
  }

  /** Whether the data of a source was written since we began to look, by the time that the server keeps. */
  isOfOurTime(ref: SourceRef): boolean {
    const { editedAt, bornAt = '' } = this.#deps.sources.get(ref) ?? {};
    return (parseTime(editedAt ?? bornAt) ?? Number.NEGATIVE_INFINITY) >= this.#beganAt;
  }

  /** What a workload began with, of a source that has just changed, at a version of its own. */
  atChange(state: WorkloadState, ref: SourceRef, { change, version, wish, askedFrom }: AtChange): Applied {
    const { sources, sharedVersions, listed } = this.#deps;
    if (!listed.has(ref)) return this.about(state.workload, ref, wish);
    if (!sharedVersions()) return change.before;
    if (change.before === change.after) return sources.at(ref, version);
    if (!change.isRead) return sources.at(ref, Math.max(askedFrom, version - 1));
    // Listed with the workload, or before it, and read only now.
    const then = askedFrom > 0 ? sources.at(ref, askedFrom) : UNKNOWN;
    return then === UNKNOWN ? this.whenFound(state, ref, then) : then;
  }
}

interface AtChange {
  readonly change: SourceChange;
  readonly version: number;
  readonly wish: Wish;
  /** The version from which on somebody asks for it; 0: it was so when we found the workload. */
  readonly askedFrom: number;
}
