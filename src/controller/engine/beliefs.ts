import { RECORD } from '../../api/annotations.ts';
import { kindNamed } from '../../api/kinds.ts';
import type { SourceRef } from '../../api/sources.ts';
import {
  type Applied,
  believe,
  type KeptLook,
  type LedgerRecord,
  parseRecord,
  type SourceId,
  UNKNOWN,
  type Word,
} from '../../domain/ledger/ledger.ts';
import { parseTime } from '../../domain/text/rfc3339.ts';
import { firstRevision, revisionBefore } from '../../domain/workload/rollout.ts';
import { type Workload, workloadKey } from '../../domain/workload/workload.ts';
import type { Runs } from '../../model/ledger/runs.ts';
import type { CheckpointEntry } from '../../model/ledger/shard.ts';
import type { SourceChange } from '../../model/sources/source-history.ts';
import { missedLooks, type Renewal, shortLook, sourceId, type WorkloadState } from '../../model/workload-state.ts';
import type { EngineDeps } from './engine-deps.ts';
import type { OtherWriters } from './other-writers.ts';

type Deps = Pick<EngineDeps, 'sources' | 'keyId' | 'sharedVersions' | 'policy' | 'serverNow' | 'listed'> & {
  readonly checkpoint: Pick<EngineDeps['checkpoint'], 'believable' | 'aliveAt' | 'seenOf' | 'entry'>;
};

// The ledger is written within a second, times have no fractions, and the server's is known to a second.
const LEDGER_LAG_MS = 3000;
const CLOCKS_APART_S = 10;
// As long as a rollout may take before Kubernetes calls it failed.
const ROLLOUT_S = 600;

/** What the past left behind: marks, records, the checkpoint. */
export class Beliefs {
  readonly #deps: Deps;
  readonly #others: Pick<OtherWriters, 'settlesByMark'>;
  readonly #runs: Runs;
  /** Second of the beginning by the server's clock, with some allowance: there may be several servers. */
  #beganAt = Number.POSITIVE_INFINITY;

  constructor(deps: Deps, others: Pick<OtherWriters, 'settlesByMark'>, runs: Runs) {
    this.#deps = deps;
    this.#others = others;
    this.#runs = runs;
  }

  /** From now on things are of our time. */
  begin(): void {
    this.#beganAt = Math.floor(this.#deps.serverNow() / 1000) - CLOCKS_APART_S;
  }

  /** What the past says about a workload as a whole: the number of its newest record, and how old its pods are. */
  recall(state: WorkloadState): void {
    const { workload } = state;
    const { entry, record } = this.#past(workload);
    state.seq = Math.max(state.seq, record?.seq ?? 0, entry?.seq ?? 0);
    const kept = newestOf(entry, record);
    const way = this.#wayOf(workload, kept);
    if (kept) recallLooks(state, kept, kept === entry ? entry.applied : record?.sources);
    if (way !== 'same') missedLooks(state, (kept === entry ? horizonOf(entry) : record?.seen) ?? -1);
    // Somebody took a mark away, or went back: what the checkpoint does not know is not known from elsewhere either.
    const isOpen = Object.values(entry?.applied ?? {}).includes(UNKNOWN);
    if (way === 'back') state.renewal = { after: -1, upTo: Number(workload.resourceVersion), isReturn: true };
    else if (!isOpen && !this.#deps.policy.compat && this.#deps.sharedVersions())
      state.renewal = this.#renewalOf(state, kept, way) ?? state.renewal;
  }

  /** When its pods were made at the earliest, where that is known. */
  #renewalOf({ workload, seq }: WorkloadState, kept: Kept | undefined, way: Way): Renewal | undefined {
    const { record } = this.#past(workload);
    if (record !== undefined && record.seq === seq)
      return { ...this.renewalBy(workload, record), base: record.revision && revisionBefore(record.revision) };
    if (way === 'same') return undefined;
    const base = kept ? kept.revision : firstRevision(workload.revision);
    return { after: -1, upTo: Number(workload.resourceVersion), base };
  }

  /** What a workload that was there before us runs with. */
  about({ workload }: WorkloadState, ref: SourceRef): Applied {
    const { sources, policy } = this.#deps;
    const { entry, record } = this.#past(workload);
    return believe({
      markIsCurrent: this.#others.settlesByMark(workload, ref),
      compat: policy.compat,
      current: sources.current(ref),
      record: record && this.#recorded(record, workload, ref),
      checkpoint: entry && this.#checkpointed(entry, workload, ref),
      baseline: entry || record || !this.#isMissed(workload, ref) ? sources.atListing(ref) : UNKNOWN,
    }).applied;
  }

  #recorded(record: LedgerRecord, workload: Workload, ref: SourceRef): Word {
    return this.#word({ ...record, applied: record.sources }, record.seen, workload, ref);
  }

  #checkpointed(entry: CheckpointEntry, workload: Workload, ref: SourceRef): Word {
    return this.#word(entry, entry.seen?.[ref.kind], workload, ref);
  }

  /** What was written down, and whether it is still so: pods may have been made since, of data that was written since. */
  #word(
    kept: Kept & Pick<CheckpointEntry, 'applied'>,
    seen: number | undefined,
    workload: Workload,
    ref: SourceRef,
  ): Word {
    const applied = kept.applied[sourceId(ref)];
    const since = this.#deps.sources.since(ref);
    const isEdited = since > (seen ?? Number.POSITIVE_INFINITY);
    const isUnmentioned = applied === undefined && kept.partial === true;
    const way = this.#wayOf(workload, kept);
    const look = way === 'back' ? lookIn(kept, workload) : undefined;
    // Pods of an earlier template may be running again, with what there was at its time.
    const isBefore = look !== undefined && look !== kept.looks?.at(-1) && since > look[1];
    const isOpen = isUnmentioned || way !== 'same' || this.#isComing(kept, ref);
    return { seq: kept.seq, applied, isOvertaken: isBefore || (isEdited && isOpen) };
  }

  /** Whether pods may have been starting when the source was written last. A record is written as a rollout begins. */
  #isComing({ coming, at }: Kept, ref: SourceRef): boolean {
    const editedAt = parseTime(this.#deps.sources.get(ref)?.editedAt ?? '');
    if (at === undefined || editedAt === undefined) return coming === true;
    return editedAt >= at - CLOCKS_APART_S && editedAt <= at + ROLLOUT_S;
  }

  /**
   * What became of the template since something was written down about it: the same, a new one, or back to one that had
   * been there before, also if only by way of another.
   */
  #wayOf(workload: Workload, kept: Kept | undefined): Way {
    if (!replacesPods(workload)) return 'same';
    // Nothing was written down, though somebody was there to do so: it came later.
    if (!kept) return this.#deps.checkpoint.believable ? 'new' : 'same';
    if (kept.revision === undefined) {
      return kept.template === undefined || kept.template === workload.templateDigest ? 'same' : 'new';
    }
    // The revision is counted a moment later than the template moves.
    const isLast = kept.looks === undefined || lookIn(kept, workload) === kept.looks.at(-1);
    if (kept.revision === workload.revision && isLast) return 'same';
    return lookIn(kept, workload) ? 'back' : 'new';
  }

  /**
   * What a workload began with that a listing has only now shown, and `then` is what there was at its last version. That
   * is the last place in the server's order where it can have begun, not the first: a change that we saw may have come
   * before it and after the creation, and seconds have to tell. What came before our time is no reason to roll.
   */
  whenFound({ workload: { createdAt }, foundAfter }: WorkloadState, ref: SourceRef, then: Applied): Applied {
    const { sources } = this.#deps;
    const { editedAt, bornAt = '' } = sources.get(ref) ?? {};
    // Within one second a source is created before who uses it, and edited afterwards.
    const isLater = editedAt === undefined ? bornAt > createdAt : editedAt >= createdAt;
    const isOfOurTime = (parseTime(editedAt ?? bornAt) ?? 0) >= this.#beganAt;
    const isMoved = sources.since(ref) > foundAfter && isLater && isOfOurTime;
    // Edited, and perhaps nobody has seen what there was before.
    if (isMoved && editedAt !== undefined) return sources.formerly(ref) ?? UNKNOWN;
    const before = isMoved ? sources.formerly(ref) : undefined;
    return before ?? (then === UNKNOWN ? sources.current(ref) : then);
  }

  /** What a source held at a moment of the server's time; without one space of versions, what it holds now. */
  at(ref: SourceRef, version: number): Applied {
    const { sources, sharedVersions } = this.#deps;
    return sharedVersions() ? sources.at(ref, version) : sources.current(ref);
  }

  /** What a workload began with, of a source that has just turned, at a version of its own. */
  atChange(state: WorkloadState, ref: SourceRef, { turn, version }: { turn: SourceChange; version: number }): Applied {
    const { sources, sharedVersions, listed } = this.#deps;
    if (!listed.has(ref)) return this.about(state, ref);
    if (!sharedVersions()) return turn.before;
    if (turn.before === turn.after) return sources.at(ref, version);
    if (!turn.isRead) return sources.at(ref, Math.max(state.since, version - 1));
    // Listed with the workload, or before it, and read only now.
    return state.since > 0 ? sources.at(ref, state.since) : this.whenFound(state, ref, UNKNOWN);
  }

  /** Whether the past has anything to say about a workload. */
  knows(workload: Workload): boolean {
    const { entry, record } = this.#past(workload);
    return entry !== undefined || record !== undefined;
  }

  /** All sources that the past knows of; some may be gone. */
  sourcesOf(workload: Workload): readonly SourceId[] {
    const { entry, record } = this.#past(workload);
    return Object.keys({ ...entry?.applied, ...record?.sources }) as SourceId[];
  }

  #past(workload: Workload) {
    const { checkpoint } = this.#deps;
    const entry = checkpoint.entry(workloadKey(workload.ref), workload.uid);
    return { entry, record: checkpoint.believable ? this.recordOf(workload) : undefined };
  }

  /** A record that we have not written, or not yet heard of: the answer to a write can be lost on its way. */
  news({ workload, seq }: WorkloadState): LedgerRecord | undefined {
    const record = this.recordOf(workload);
    return record && record.seq > seq ? record : undefined;
  }

  /** When a rollout was made of which only the record was found: on the workload, or on the Job that was started for it. */
  renewalBy({ ref, resourceVersion }: Workload, record: LedgerRecord): Renewal {
    const run = this.#runs.of(workloadKey(ref));
    const after = record.seen ?? -1;
    if (run?.record !== record) return { after, upTo: Number(resourceVersion) };
    return { after, upTo: run.version, job: run.job };
  }

  /** The newest record of a workload that is ours. */
  recordOf({ ref, annotations, uid }: Workload): LedgerRecord | undefined {
    const { keyId } = this.#deps;
    const own = parseRecord(annotations[RECORD], uid, keyId);
    const run = this.#runs.of(workloadKey(ref))?.record;
    if (run?.uid !== uid || run.key !== keyId || run.seq <= (own?.seq ?? 0)) return own;
    return run;
  }

  /**
   * Whether a workload that the ledger had no time to learn of was overtaken by a change while nobody was there. Of two
   * events in the same second the change counts as the later.
   */
  #isMissed({ createdAt, ref: { kind } }: Workload, ref: SourceRef): boolean {
    const { checkpoint, sources, sharedVersions } = this.#deps;
    const editedAt = sources.get(ref)?.editedAt;
    if (!checkpoint.believable || editedAt === undefined || editedAt < createdAt) return false;
    const seen = checkpoint.seenOf(ref.kind, kind);
    if (seen !== undefined && sharedVersions()) return sources.since(ref) > seen;
    return (parseTime(editedAt) ?? 0) * 1000 >= checkpoint.aliveAt - LEDGER_LAG_MS;
  }
}

/** Whether an edit of its template replaces pods. */
const replacesPods = ({ ref }: Workload): boolean => kindNamed(ref.kind)?.effect === 'patch';

type Way = 'same' | 'new' | 'back';

/** What a record and an entry of the checkpoint have in common. */
interface Kept extends Pick<CheckpointEntry, 'seq' | 'looks' | 'revision' | 'partial' | 'coming'> {
  readonly template?: string;
  /** Second at which a rollout began. */
  readonly at?: number;
}

/** How far all kinds of sources had been heard of. */
function horizonOf(entry: CheckpointEntry | undefined): number | undefined {
  const seen = Object.values(entry?.seen ?? {});
  return seen.length > 0 ? Math.min(...seen) : undefined;
}

/** The checkpoint was written knowing the record whose number it carries. */
function newestOf(entry: Kept | undefined, record: Kept | undefined): Kept | undefined {
  return record && record.seq > (entry?.seq ?? -1) ? record : entry;
}

/** Templates from before our time; what pods of the last one ran with is what was written down. */
function recallLooks({ looks, workload }: WorkloadState, kept: Kept, applied: CheckpointEntry['applied'] = {}): void {
  const now = shortLook(workload.fullTemplateDigest);
  const had = new Map(Object.entries(applied)) as ReadonlyMap<SourceId, Applied>;
  const last = kept.looks?.at(-1);
  const former = (kept.looks ?? []).filter(([full]) => full !== now);
  looks.unshift(
    ...former.map((look) => ({ full: look[0], bare: '', since: look[1], had: look === last ? had : undefined })),
  );
}

function lookIn({ looks = [] }: Kept, { fullTemplateDigest }: Workload): KeptLook | undefined {
  return looks.find(([digest]) => digest === shortLook(fullTemplateDigest));
}
