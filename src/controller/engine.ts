import type { SourceRef } from '../api/sources.ts';
import { ABSENT, type Applied, compare, lifecycleOf, type SourceId, UNKNOWN } from '../domain/ledger.ts';
import { dueAt, timingOf } from '../domain/plan.ts';
import type { Verdict } from '../domain/verdict.ts';
import { type Workload, type WorkloadKey, workloadKey } from '../domain/workload.ts';
import { Beliefs } from './beliefs.ts';
import { concernsOf, staysOpen } from './concerns.ts';
import type { EngineDeps } from './engine-deps.ts';
import { OtherWriters } from './other-writers.ts';
import { Runs } from './runs.ts';
import type { Turn } from './source-book.ts';
import { Verdicts } from './verdicts.ts';
import { looksAlike, newState, remember, sourceId, type WorkloadState } from './workload-state.ts';

/**
 * How a workload's newest object reached us. `list`: as it was found, whatever happened to it before; `watch`: at the
 * very moment of the change; `write`: the same, in the answer to our own request.
 */
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
  readonly #runs = new Runs();
  readonly #deps: EngineDeps;
  readonly #others: OtherWriters;
  readonly #beliefs: Beliefs;
  #begun = false;
  #seen = 0;

  constructor(deps: EngineDeps) {
    this.#deps = deps;
    this.#others = new OtherWriters(deps);
    this.#beliefs = new Beliefs(deps, this.#others, this.#runs);
    this.verdicts = new Verdicts(deps, this.states);
  }

  /** The newest moment of the server's time that we know of: what we write now comes after it. */
  get seen(): number {
    return this.#seen;
  }

  /** A source was seen to be, to have changed, or to be gone. */
  sourceTurned(ref: SourceRef, turn: Turn, version: number): void {
    this.#seen = Math.max(this.#seen, version);
    if (!this.#begun) return;
    const { graph, inScope, want, report } = this.#deps;
    if (!inScope(ref.namespace)) return;
    if (turn.before === turn.after && !turn.flagsMoved) {
      if (turn.after === UNKNOWN && graph.isWanted(ref)) want(ref);
      return;
    }
    const rolled: [WorkloadState, Verdict][] = [];
    for (const key of graph.dependents(ref)) {
      const state = this.states.get(key);
      if (!state) continue;
      const verdict = this.verdicts.of(state, ref);
      rolled.push([state, verdict]);
      this.#consider(state, ref, verdict, () => this.#beliefs.atTurn(state, ref, { turn, version }));
    }
    if (turn.before !== turn.after && !turn.isRead) report.sourceChanged(ref, turn, rolled);
  }

  /** `told`: with a listing, up to which version everything that happened to its kind had been told before. */
  workloadSeen(workload: Workload, origin: Origin, told = 0): void {
    this.#seen = Math.max(this.#seen, Number(workload.resourceVersion));
    const key = workloadKey(workload.ref);
    const known = this.states.get(key);
    if (known?.workload.uid === workload.uid) {
      if (Number(known.workload.resourceVersion) >= Number(workload.resourceVersion)) return;
      this.#renew(known, workload, origin, told);
      return;
    }
    // The answer to a write comes after the news that the object is gone: it brings nobody back.
    if (origin === 'write') return;
    if (known) this.workloadGone(key);
    const version = Number(workload.resourceVersion);
    const state = newState(workload, origin === 'list' ? undefined : version, told);
    this.states.set(key, state);
    this.#enter(state);
    // A kind may be listed long after the start, of workloads or of sources: what the past says is still true.
    if (this.#begun && origin === 'list' && this.#beliefs.knows(workload)) this.#meet(state, undefined);
    else if (this.#begun) this.#meet(state, version, origin === 'list');
    this.runSeen(workload, state.born);
  }

  /** Our write is settled. What came while it was under way, a source's change or another writer's, counts from now on. */
  wrote(state: WorkloadState): void {
    this.#others.noticeRevert(state);
    this.#meet(state, Number(state.workload.resourceVersion));
  }

  /** We started a Job from a CronJob, at this moment. */
  ran(cronJob: WorkloadState, version: number): void {
    this.#others.ran(cronJob, version);
  }

  /** A Job may tell that it was started for changes of data, by us or by another leader; `born` as in its state. */
  runSeen(job: Workload, born: number | undefined): void {
    const key = this.#runs.note(job);
    const cronJob = key && this.states.get(key);
    const record = cronJob && this.#beliefs.recordOf(cronJob.workload);
    if (!this.#begun || !record || record.seq < cronJob.seq) return;
    if (born !== undefined) this.#others.ran(cronJob, born);
    else this.#others.wroteSometime(cronJob, this.#beliefs.unplaced(cronJob.workload, record));
    this.#meet(cronJob, born ?? Number(cronJob.workload.resourceVersion));
  }

  workloadGone(key: WorkloadKey): void {
    const state = this.states.get(key);
    if (!state) return;
    this.states.delete(key);
    this.verdicts.leave(state);
    this.#runs.forget(key);
    this.#deps.queue.remove(key);
    this.#deps.checkpoint.gone(key);
  }

  /** Everything is listed and read: settle what each workload runs with, and from now on follow. */
  begin(): void {
    this.#begun = true;
    this.#beliefs.begin();
    for (const state of this.states.values()) this.#meet(state, state.born);
  }

  /** A new leader took over: look at everything once more. */
  reconsider(): void {
    this.#reconsider(Number.POSITIVE_INFINITY);
  }

  /** A namespace came into scope or left it, at a moment of the server's time: what changes from then on counts. */
  namespaceTurned(namespace: string, version: number): void {
    this.#reconsider(version, namespace);
  }

  #reconsider(version: number, namespace?: string): void {
    if (!this.#begun) return;
    for (const [key, state] of this.states) {
      if (namespace !== undefined && state.workload.ref.namespace !== namespace) continue;
      this.#adoptCheckpoint(key, state);
      this.#meet(state, Math.max(version, state.since));
      if (state.waiting.size > 0) this.schedule(key, state);
    }
  }

  /** The bytes of every source that some workload would roll for, and that nobody has read yet. */
  *unread(): Generator<SourceRef> {
    for (const state of this.states.values()) {
      for (const ref of concernsOf(this.#deps, state)) {
        if (this.#deps.sources.current(ref) === UNKNOWN && staysOpen(this.verdicts.of(state, ref))) yield ref;
      }
    }
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

  /** A newer version of a workload that we know. */
  #renew(state: WorkloadState, workload: Workload, origin: Origin, told: number): void {
    const before = state.workload;
    const version = Number(workload.resourceVersion);
    // What a listing shows may have happened at any moment since we last looked; the first is the safe one.
    const moment = origin === 'list' ? Math.max(told, Number(before.resourceVersion)) + 1 : version;
    state.workload = workload;
    for (const waiter of state.waiters.splice(0)) waiter();
    // The parser hands the same intent and references back while only status moved.
    if (before.intent === workload.intent && before.references === workload.references) return;
    if (!looksAlike(before, workload)) this.#moved(state, moment, origin);
    this.#enter(state);
    if (!this.#begun) return;
    this.#noteWriter(state, before, origin);
    this.#meet(state, moment);
  }

  /** Whose hand it was: ours, that of another leader, or somebody else's. */
  #noteWriter(state: WorkloadState, before: Workload, origin: Origin): void {
    const { workload } = state;
    const isNewLook = remember(state.looks, workload.fullTemplateDigest);
    const news = this.#beliefs.news(state);
    if (origin === 'list' && news) this.#others.wroteSometime(state, this.#beliefs.unplaced(workload, news));
    else if (origin === 'write' || news) this.#others.wroteOurselves(state, isNewLook);
    if (before.templateDigest !== workload.templateDigest)
      this.#others.templateMoved(state, origin === 'list' ? undefined : Number(workload.resourceVersion));
    else if (origin !== 'write' && !state.writing) this.#others.noticeRevert(state);
  }

  /** A workload takes its place; the owner of a template that it borrowed may have to be looked at again. */
  #enter(state: WorkloadState): void {
    const owner = this.verdicts.enter(state);
    if (owner && this.#begun) this.#meet(owner, Number(state.workload.resourceVersion));
  }

  /** Goes through all that concerns a workload, as of a moment of the server's time; undefined: as the past left it. */
  #meet(state: WorkloadState, version: number | undefined, isListed = false): void {
    const news = this.#beliefs.news(state);
    const concerned = new Set<SourceId>();
    const remembered = version === undefined ? this.#beliefs.sourcesOf(state.workload) : undefined;
    for (const ref of concernsOf(this.#deps, state, remembered)) {
      const verdict = this.verdicts.of(state, ref);
      if (!staysOpen(verdict)) continue;
      concerned.add(sourceId(ref));
      this.#adopt(state, sourceId(ref), news?.sources[sourceId(ref)]);
      this.#consider(state, ref, verdict, () => {
        if (version === undefined) return this.#beliefs.about(state, ref);
        const then = this.#beliefs.at(ref, version);
        return isListed ? this.#beliefs.whenFound(state, ref, then) : then;
      });
    }
    if (news) state.seq = news.seq;
    for (const id of state.applied.keys()) if (!concerned.has(id)) this.#forget(state, id);
    if (this.#deps.inScope(state.workload.ref.namespace)) this.#deps.report.problems(state);
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
    if (this.#others.marked(state.workload, ref, state.applied.get(id))) this.settle(state, id, current);
    else if (this.#others.brought(state, ref, current)) this.settle(state, id, current);
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

  /** Its template or annotations are others: what could not be written as it was may go now. */
  #moved(state: WorkloadState, moment: number, origin: Origin): void {
    const key = workloadKey(state.workload.ref);
    state.since = moment;
    if (origin === 'write' || (!this.#deps.queue.release(key) && !state.held)) return;
    state.held = false;
    if (state.waiting.size > 0) this.schedule(key, state);
  }

  #forget(state: WorkloadState, id: SourceId): void {
    state.waiting.delete(id);
    state.undelivered.delete(id);
    if (state.applied.delete(id)) this.#deps.checkpoint.touch(workloadKey(state.workload.ref));
  }
}
