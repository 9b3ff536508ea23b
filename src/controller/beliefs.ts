import { RECORD } from '../api/annotations.ts';
import type { SourceRef } from '../api/sources.ts';
import {
  ABSENT,
  type Applied,
  believe,
  type LedgerRecord,
  parseRecord,
  type SourceId,
  UNKNOWN,
} from '../domain/ledger.ts';
import { parseTime } from '../domain/rfc3339.ts';
import { type Workload, workloadKey } from '../domain/workload.ts';
import type { EngineDeps } from './engine-deps.ts';
import type { OtherWriters } from './other-writers.ts';
import type { Runs } from './runs.ts';
import type { Turn } from './source-book.ts';
import { sourceId, type Unplaced, type WorkloadState } from './workload-state.ts';

type Deps = Pick<EngineDeps, 'sources' | 'checkpoint' | 'keyId' | 'sharedVersions' | 'policy' | 'serverNow' | 'listed'>;

// The ledger is written within a second, times have no fractions, and the server's is known to a second.
const LEDGER_LAG_MS = 3000;
const CLOCKS_APART_S = 10;

/** What the past left behind: marks, records, the checkpoint. */
export class Beliefs {
  readonly #deps: Deps;
  readonly #others: Pick<OtherWriters, 'marked'>;
  readonly #runs: Runs;
  /** Second of the beginning by the server's clock, with some allowance: there may be several servers. */
  #beganAt = Number.POSITIVE_INFINITY;

  constructor(deps: Deps, others: Pick<OtherWriters, 'marked'>, runs: Runs) {
    this.#deps = deps;
    this.#others = others;
    this.#runs = runs;
  }

  /** From now on things are of our time. */
  begin(): void {
    this.#beganAt = Math.floor(this.#deps.serverNow() / 1000) - CLOCKS_APART_S;
  }

  /** What a workload that was there before us runs with. */
  about(state: WorkloadState, ref: SourceRef): Applied {
    const { sources } = this.#deps;
    const { workload } = state;
    const id = sourceId(ref);
    const { entry, record } = this.#past(workload);
    state.seq = Math.max(state.seq, record?.seq ?? 0, entry?.seq ?? 0);
    if (record?.seq === state.seq) state.unplaced = this.unplaced(workload, record);
    const isReverted = entry?.applied[id] === UNKNOWN;
    return believe({
      markIsCurrent: this.#others.marked(workload, ref) || (!isReverted && this.#isOlderThan(record, ref)),
      current: sources.current(ref),
      record: record && { seq: record.seq, applied: record.sources[id] },
      checkpoint: entry && { seq: entry.seq, applied: entry.applied[id] },
      baseline: entry || record || !this.#isMissed(workload, ref) ? sources.atListing(ref) : UNKNOWN,
    }).applied;
  }

  /** What changed before a rollout, and was heard of only afterwards or never, is in its pods already. */
  #isOlderThan(record: LedgerRecord | undefined, ref: SourceRef): boolean {
    const { sources, sharedVersions, policy } = this.#deps;
    if (record?.seen === undefined || policy.compat || !sharedVersions() || !sources.get(ref)) return false;
    const applied = record.sources[sourceId(ref)];
    return applied !== undefined && applied !== ABSENT && sources.since(ref) <= record.seen;
  }

  /**
   * What a workload began with that a listing has only now shown, and `then` is what there was at its last version. That
   * is the last place in the server's order where it can have begun, not the first: a change that we saw may have come
   * before it and after the creation, and seconds have to tell. What came before our time is no reason to roll.
   */
  whenFound({ workload: { createdAt }, foundAfter }: WorkloadState, ref: SourceRef, then: Applied): Applied {
    const { sources } = this.#deps;
    const { editedAt, bornAt = '' } = sources.get(ref) ?? {};
    const formerly = sources.since(ref) > foundAfter ? sources.formerly(ref) : undefined;
    // Within one second a source is created before who uses it, and edited afterwards.
    const isLater = editedAt === undefined ? bornAt > createdAt : editedAt >= createdAt;
    const isOfOurTime = (parseTime(editedAt ?? bornAt) ?? 0) >= this.#beganAt;
    if (formerly !== undefined && isLater && isOfOurTime) return formerly;
    return then === UNKNOWN ? sources.current(ref) : then;
  }

  /** What a source held at a moment of the server's time; without one space of versions, what it holds now. */
  at(ref: SourceRef, version: number): Applied {
    const { sources, sharedVersions } = this.#deps;
    return sharedVersions() ? sources.at(ref, version) : sources.current(ref);
  }

  /** What a workload began with, of a source that has just turned, at a version of its own. */
  atTurn(state: WorkloadState, ref: SourceRef, { turn, version }: { turn: Turn; version: number }): Applied {
    const { sources, sharedVersions, listed } = this.#deps;
    if (!listed.has(ref)) return this.about(state, ref);
    if (!sharedVersions()) return turn.before;
    if (turn.before === turn.after) return sources.at(ref, version);
    if (!turn.isRead) return sources.at(ref, Math.max(state.since, version - 1));
    // Listed with the workload, or before it, and read only now.
    return state.since > 0 ? sources.at(ref, state.since) : this.whenFound(state, ref, sources.current(ref));
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

  /** A record as it was found: on the workload, or on the Job that was started for it. */
  unplaced({ ref, resourceVersion }: Workload, record: LedgerRecord): Unplaced {
    const run = this.#runs.of(workloadKey(ref));
    if (run?.record !== record) return { record, job: undefined, before: Number(resourceVersion) };
    return { record, job: run.job, before: run.version };
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
   * Whether a workload that the ledger had no time to learn of was overtaken by a change while nobody was there. Seconds
   * are all we have here, and of two events in the same one the change counts as the later.
   */
  #isMissed({ createdAt }: Workload, ref: SourceRef): boolean {
    const { checkpoint, sources } = this.#deps;
    const editedAt = sources.get(ref)?.editedAt;
    if (!checkpoint.believable || editedAt === undefined || editedAt < createdAt) return false;
    return (parseTime(editedAt) ?? 0) * 1000 >= checkpoint.aliveAt - LEDGER_LAG_MS;
  }
}
