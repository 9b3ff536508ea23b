import { LAST_RELOADED_FROM, RECORD } from '../api/annotations.ts';
import type { SourceRef } from '../api/sources.ts';
import {
  ABSENT,
  type Applied,
  believe,
  compare,
  lifecycleOf,
  parseRecord,
  type SourceId,
  UNKNOWN,
} from '../domain/ledger.ts';
import { carriesMark, parseLastReloadedFrom } from '../domain/marks.ts';
import { dueAt, timingOf } from '../domain/plan.ts';
import type { Verdict } from '../domain/verdict.ts';
import { type Workload, type WorkloadKey, workloadKey } from '../domain/workload.ts';
import type { EngineDeps } from './engine-deps.ts';
import type { Turn } from './source-book.ts';
import { Verdicts } from './verdicts.ts';
import { newState, refOf, rememberTemplate, sourceId, type WorkloadState } from './workload-state.ts';

/** How a workload's newest object reached us. `write`: in the answer to our own request. */
type Origin = 'list' | 'watch' | 'write';

/**
 * Knows for every workload what its pods run with, and marks it due when that is no longer what its sources hold.
 *
 * It decides nothing and writes nothing: the rules are the domain's, the writing is `reconcile`'s. Until `begin` it only
 * collects, because the beliefs about the past need everything that was listed.
 */
export class Engine {
  readonly states = new Map<WorkloadKey, WorkloadState>();
  readonly verdicts: Verdicts;
  readonly #deps: EngineDeps;
  #begun = false;

  constructor(deps: EngineDeps) {
    this.#deps = deps;
    this.verdicts = new Verdicts(deps, this.states);
  }

  /** A source was seen to be, to have changed, or to be gone. */
  sourceTurned(ref: SourceRef, turn: Turn, version: number): void {
    if (!this.#begun) return;
    if (turn.before === turn.after && !turn.flagsMoved) {
      if (turn.after === UNKNOWN && this.#deps.graph.isWanted(ref)) this.#deps.want(ref);
      return;
    }
    const rolled: [WorkloadState, Verdict][] = [];
    for (const key of this.#deps.graph.dependents(ref)) {
      const state = this.states.get(key);
      if (!state) continue;
      const verdict = this.verdicts.of(state, ref);
      rolled.push([state, verdict]);
      const asOf = turn.before === turn.after ? version : Math.max(state.since, version - 1);
      this.#consider(state, ref, verdict, this.#past(ref, asOf, turn));
    }
    if (turn.before !== turn.after && turn.before !== UNKNOWN) this.#deps.report.sourceChanged(ref, turn, rolled);
  }

  workloadSeen(workload: Workload, origin: Origin): void {
    const key = workloadKey(workload.ref);
    const known = this.states.get(key);
    const state = known?.workload.uid === workload.uid ? known : undefined;
    const version = Number(workload.resourceVersion);
    if (!state) {
      if (known) this.workloadGone(key);
      const fresh = newState(workload, origin === 'list' ? undefined : version);
      this.states.set(key, fresh);
      this.verdicts.enter(fresh);
      if (this.#begun) this.#meet(fresh, version);
      return;
    }
    if (Number(state.workload.resourceVersion) > version) return;
    const before = state.workload;
    state.workload = workload;
    // The parser hands the same intent and references back while only status moved.
    if (before.intent === workload.intent && before.references === workload.references) return;
    state.since = version;
    this.verdicts.enter(state);
    if (!this.#begun) return;
    if (state.held) this.#release(key, state);
    if (before.templateDigest !== workload.templateDigest) this.#templateMoved(state, version);
    else if (origin !== 'write') this.#noticeRevert(state);
    this.#meet(state, version);
  }

  workloadGone(key: WorkloadKey): void {
    const state = this.states.get(key);
    if (!state) return;
    this.states.delete(key);
    this.verdicts.leave(state);
    this.#deps.queue.remove(key);
    this.#deps.checkpoint.touch(key);
  }

  /** Everything is listed and read: settle what each workload runs with, and from now on follow. */
  begin(): void {
    this.#begun = true;
    for (const state of this.states.values()) this.#meet(state, state.born);
  }

  /** A namespace came into scope, or a new leader took over: look at everything (there) once more. */
  reconsider(namespace?: string): void {
    if (!this.#begun) return;
    for (const [key, state] of this.states) {
      if (namespace !== undefined && state.workload.ref.namespace !== namespace) continue;
      this.#adoptCheckpoint(key, state);
      this.#meet(state, Number.POSITIVE_INFINITY);
      if (state.waiting.size > 0) this.schedule(key, state);
    }
  }

  /** The bytes of every source that some workload would roll for, and that nobody has read yet. */
  *unread(): Generator<SourceRef> {
    for (const state of this.states.values()) {
      for (const ref of this.#concerns(state)) {
        if (this.#deps.sources.current(ref) === UNKNOWN && staysOpen(this.verdicts.of(state, ref))) yield ref;
      }
    }
  }

  schedule(key: WorkloadKey, state: WorkloadState): void {
    const at = dueAt(state.firstChangeAt, state.lastChangeAt, timingOf(state.workload.intent, this.#deps.timing));
    // A timer of zero still costs a millisecond.
    if (at <= this.#deps.clock.now()) this.#deps.queue.add(key);
    else this.#deps.queue.schedule(key, at);
  }

  /** From now on this counts as what the pods run with. */
  settle(state: WorkloadState, id: SourceId, applied: Applied): void {
    state.waiting.delete(id);
    state.undelivered.delete(id);
    if (state.applied.get(id) === applied) return;
    state.applied.set(id, applied);
    this.#deps.checkpoint.touch(workloadKey(state.workload.ref));
  }

  /** Goes through all that concerns a workload, as of a moment of the server's time; undefined: as the past left it. */
  #meet(state: WorkloadState, version: number | undefined): void {
    const record = parseRecord(state.workload.annotations[RECORD], state.workload.uid, this.#deps.keyId);
    const isNews = record !== undefined && record.seq > state.seq;
    const concerned = new Set<SourceId>();
    for (const ref of this.#concerns(state)) {
      const verdict = this.verdicts.of(state, ref);
      if (!staysOpen(verdict)) continue;
      concerned.add(sourceId(ref));
      if (isNews) this.#adopt(state, sourceId(ref), record.sources[sourceId(ref)]);
      this.#consider(state, ref, verdict, () => this.#beliefAbout(state, ref, version));
    }
    if (isNews) state.seq = record.seq;
    for (const id of state.applied.keys()) if (!concerned.has(id)) this.#forget(state, id);
    this.#deps.report.problems(state);
  }

  /** The leader before us settled things that stand on no object; its number is then higher than ours. */
  #adoptCheckpoint(key: WorkloadKey, state: WorkloadState): void {
    const entry = this.#deps.checkpoint.entry(key, state.workload.uid);
    if (!entry || entry.seq <= state.seq) return;
    for (const id of state.applied.keys()) this.#adopt(state, id, entry.applied[id]);
    state.seq = entry.seq;
  }

  /** Another writer, usually the leader before us, recorded what it did. */
  #adopt(state: WorkloadState, id: SourceId, applied: Applied | undefined): void {
    if (applied !== undefined && state.applied.has(id)) state.applied.set(id, applied);
  }

  #consider(state: WorkloadState, ref: SourceRef, verdict: Verdict, past: () => Applied): void {
    const id = sourceId(ref);
    if (!staysOpen(verdict)) {
      this.#forget(state, id);
      return;
    }
    const { sources, lifecycle } = this.#deps;
    const current = sources.current(ref);
    if (!state.applied.has(id)) this.settle(state, id, past());
    if (this.#marked(state.workload, ref)) this.settle(state, id, current);
    else this.#trustNewPods(state, ref, current);
    const difference = compare(state.applied.get(id) ?? UNKNOWN, current, lifecycleOf(ref.kind, lifecycle));
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

  #beliefAbout(state: WorkloadState, ref: SourceRef, version: number | undefined): Applied {
    const { sources, checkpoint, keyId } = this.#deps;
    const { workload } = state;
    if (version !== undefined) {
      // Its own place in the server's order says what it began with. A listing tells its last place, not its first,
      // and what came before our time is no reason to roll.
      const then = this.#past(ref, version)();
      return then === UNKNOWN && state.born === undefined ? sources.current(ref) : then;
    }
    const id = sourceId(ref);
    const entry = checkpoint.entry(workloadKey(workload.ref), workload.uid);
    const record = checkpoint.believable ? parseRecord(workload.annotations[RECORD], workload.uid, keyId) : undefined;
    state.seq = Math.max(state.seq, record?.seq ?? 0, entry?.seq ?? 0);
    return believe({
      markIsCurrent: this.#marked(workload, ref),
      current: sources.current(ref),
      record: record && { seq: record.seq, applied: record.sources[id] },
      checkpoint: entry && { seq: entry.seq, applied: entry.applied[id] },
      baseline: sources.atListing(ref),
    }).applied;
  }

  #past(ref: SourceRef, version: number, turn?: Turn): () => Applied {
    const { sources, sharedVersions } = this.#deps;
    // Without one space of versions only the order of arrival is left.
    if (!sharedVersions()) return () => turn?.before ?? sources.current(ref);
    return () => sources.at(ref, version);
  }

  /** Whether the template already says that the pods run with the current data. */
  #marked(workload: Workload, ref: SourceRef): boolean {
    const { sources, strategy } = this.#deps;
    const mark = sources.get(ref)?.fingerprint?.mark;
    return mark !== undefined && !sources.isAmbiguous(ref) && carriesMark(workload, ref, mark, strategy) === 'equal';
  }

  /**
   * Somebody else edited the template, so there will be new pods, and they start with what the sources held at that
   * moment. Unless the template is one we saw before: then pods from before the change may still be running.
   */
  #templateMoved(state: WorkloadState, version: number): void {
    const { workload } = state;
    const isNew = !state.templates.includes(workload.templateDigest);
    rememberTemplate(state, workload.templateDigest);
    state.reapplied.clear();
    state.undelivered.clear();
    state.wrote.clear();
    state.renewedAt = isNew && this.#deps.sharedVersions() && !this.#deps.policy.compat ? version : -1;
    if (isNew) return;
    // What was trusted to new pods is open again: they may be on their way out.
    for (const [id, applied] of state.trusted) state.applied.set(id, applied);
    state.trusted.clear();
  }

  #trustNewPods(state: WorkloadState, ref: SourceRef, current: Applied): void {
    const id = sourceId(ref);
    const applied = state.applied.get(id);
    if (current === ABSENT || current === UNKNOWN || applied === ABSENT || applied === current) return;
    if (applied === undefined || state.renewedAt < this.#deps.sources.since(ref)) return;
    state.trusted.set(id, applied);
    this.settle(state, id, current);
    this.#deps.report.settledByOther(state, ref);
  }

  /** Our mark is gone though the template is the same: another writer undid the rollout. Once more, then never again. */
  #noticeRevert(state: WorkloadState): void {
    for (const [id, mark] of state.wrote) {
      const ref = refOf(id, state.workload.ref.namespace);
      if (!this.#isTaken(state, ref, mark) || this.#marked(state.workload, ref)) continue;
      const current = this.#deps.sources.current(ref);
      const again = state.reapplied.get(id) !== current;
      state.wrote.delete(id);
      state.applied.set(id, UNKNOWN);
      if (again) state.reapplied.set(id, current);
      else state.undelivered.add(id);
      this.#deps.report.reverted(state, ref, again);
    }
  }

  #isTaken({ workload, wroteAt }: WorkloadState, ref: SourceRef, mark: string): boolean {
    if (this.#deps.strategy === 'env-vars') return carriesMark(workload, ref, mark, 'env-vars') !== 'equal';
    // A later reload, whoever made it and whatever for, brought newer pods.
    const text = workload.templateAnnotations[LAST_RELOADED_FROM];
    return text === undefined || (parseLastReloadedFrom(text)?.observedAt ?? 0) < wroteAt;
  }

  /** What could not be written as it was may go now. */
  #release(key: WorkloadKey, state: WorkloadState): void {
    state.held = false;
    if (state.waiting.size > 0) this.schedule(key, state);
  }

  #forget(state: WorkloadState, id: SourceId): void {
    state.waiting.delete(id);
    state.undelivered.delete(id);
    if (state.applied.delete(id)) this.#deps.checkpoint.touch(workloadKey(state.workload.ref));
  }

  /** Sources that a workload uses, names, or was once rolled for. */
  *#concerns(state: WorkloadState): Generator<SourceRef> {
    const { graph, sources, inScope } = this.#deps;
    const { ref } = state.workload;
    if (!inScope(ref.namespace)) return;
    const key = workloadKey(ref);
    const seen = new Set<SourceId>();
    for (const { kind, name } of graph.literalsOf(key)) {
      seen.add(sourceId({ kind, name }));
      yield { kind, namespace: ref.namespace, name };
    }
    for (const { kind, pattern } of graph.patternsOf(key)) {
      for (const source of sources.inNamespace(kind, ref.namespace)) {
        if (seen.has(sourceId(source.ref)) || !pattern.matches?.(source.ref.name)) continue;
        seen.add(sourceId(source.ref));
        yield source.ref;
      }
    }
    for (const id of state.applied.keys()) if (!seen.has(id)) yield refOf(id, ref.namespace);
  }
}

/** A change that only an unreadable annotation holds back is not forgotten: it rolls when the annotation is mended. */
const staysOpen = (verdict: Verdict): boolean => verdict.reload || verdict.because === 'invalid-annotation';
