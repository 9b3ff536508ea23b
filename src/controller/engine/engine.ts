import type { SourceRef } from '../../api/sources.ts';
import { listsWith } from '../../domain/asks/sap-annotations.ts';
import type { Verdict } from '../../domain/judge/verdict.ts';
import { ABSENT, type Applied, lifecycleOf, UNKNOWN } from '../../domain/ledger/applied.ts';
import { type SourceId, sourceId } from '../../domain/ledger/source-id.ts';
import type { Change } from '../../domain/outcome/change.ts';
import { dueTime } from '../../domain/plan/gate.ts';
import { outcomesOf } from '../../domain/state/effects.ts';
import type { StateRules } from '../../domain/state/source-past.ts';
import type { SeenBy, Sighting } from '../../domain/state/transitions.ts';
import { WorkloadState } from '../../domain/state/workload-state.ts';
import { type Workload, type WorkloadKey, workloadKey } from '../../domain/workload/workload.ts';
import { concernsOf, reachesInto, staysOpen } from '../../model/concerns.ts';
import { rememberingLast } from '../../model/config-hash.ts';
import { Evidence, wishOf } from '../../model/evidence.ts';
import { PastRecords } from '../../model/ledger/past-records.ts';
import { Runs } from '../../model/ledger/runs.ts';
import type { SourceChange } from '../../model/sources/source-history.ts';
import { Verdicts } from '../../model/verdicts.ts';
import { type Beginning, Beginnings } from './beginnings.ts';
import type { EngineDeps } from './engine-deps.ts';
import { NextVersions } from './next-versions.ts';

/**
 * Knows for every workload what its pods run with, and marks it due when that is no longer what its sources hold.
 *
 * It decides nothing and writes nothing: the rules are the domain's, the writing is `reconcile`'s. Until `begin` it only
 * collects, because what is believed of the past needs everything that was listed.
 */
export class Engine {
  readonly states = new Map<WorkloadKey, WorkloadState>();
  readonly verdicts: Verdicts;
  readonly #deps: EngineDeps;
  readonly #rules: StateRules;
  readonly #runs = new Runs();
  readonly #records: PastRecords;
  readonly #evidence: Evidence;
  readonly #beginnings: Beginnings;
  /** Who waits for a newer version of a workload. */
  readonly nextVersions = new NextVersions();
  #begun = false;
  #seen = 0;

  constructor(deps: EngineDeps) {
    this.#deps = deps;
    const { sharedVersions, sources, listed } = deps;
    const configHash = rememberingLast(deps.configHash, () => sources.changes + listed.places);
    const { compat, sapCompat } = deps.policy;
    const lendsTemplate = ({ ref }: Workload): boolean => this.verdicts.lends(workloadKey(ref));
    this.#rules = { compat, sapCompat, sharedVersions, sources, configHash, lendsTemplate };
    this.#records = new PastRecords(deps, this.#runs);
    this.#evidence = new Evidence({ ...deps, compat, sapCompat, records: this.#records });
    this.verdicts = new Verdicts({ ...deps, workload: (key) => this.states.get(key)?.workload });
    this.#beginnings = new Beginnings(this.#evidence, { ...deps, verdicts: this.verdicts });
  }

  /** The newest version of the server that we know of: what we write now comes after it. */
  get seen(): number {
    return this.#seen;
  }

  /** A source was seen to be, to have changed, or to be gone. */
  sourceChanged(ref: SourceRef, change: SourceChange, version: number): void {
    this.#seen = Math.max(this.#seen, version);
    const { index, inScope, want, report } = this.#deps;
    if (!this.#begun || !inScope(ref.namespace)) return;
    const { before, after, unseenFrom } = change;
    const isNews = before !== after || change.flagsMoved || unseenFrom !== undefined;
    if (!isNews && after === UNKNOWN && index.isWanted(ref)) want(ref);
    // As SAP, every write to a source counts, whatever it changed.
    if (!isNews && !this.#rules.sapCompat) return;
    const judged: [Workload, Verdict][] = [];
    const beginning = this.#beginnings.changed(change, version);
    for (const state of this.#dependents(ref, isNews)) {
      if (unseenFrom !== undefined) state.lostSightOf(ref, unseenFrom);
      const verdict = this.verdicts.of(state.workload, ref);
      judged.push([state.workload, verdict]);
      this.#compare(state, ref, verdict, beginning);
      this.#carryOut(state);
    }
    if (before !== after && !change.isRead) report.sourceChanged(ref, change, judged);
  }

  /** Who uses or names a source; where there is no news of its data, only who goes by its versions. */
  *#dependents(ref: SourceRef, isNews: boolean): Generator<WorkloadState> {
    for (const key of this.#deps.index.dependents(ref)) {
      const state = this.states.get(key);
      if (!state || !this.#deps.inScope(state.workload.ref.namespace)) continue;
      if (isNews || listsWith(state.workload.intent, ref)) yield state;
    }
  }

  /** `completeUpTo`: with a listing, up to which version everything that happened to its kind had been heard before. */
  workloadSeen(workload: Workload, by: SeenBy, completeUpTo = 0): void {
    const version = Number(workload.resourceVersion);
    this.#seen = Math.max(this.#seen, version);
    const key = workloadKey(workload.ref);
    const known = this.states.get(key);
    if (known?.workload.uid === workload.uid) {
      if (Number(known.workload.resourceVersion) < version) this.#seenAgain(known, workload, by, completeUpTo);
      return;
    }
    // The answer to a write comes after the news that the object is gone: it brings nobody back.
    if (by === 'write') return;
    if (known) this.workloadGone(key);
    const isListed = by === 'list';
    const state = new WorkloadState(workload, this.#rules, isListed ? undefined : version, completeUpTo);
    this.states.set(key, state);
    this.#enter(state);
    // A kind may be listed long after the start, of workloads or of sources: what the past says is still true.
    if (this.#begun && isListed && this.#records.knows(workload)) {
      this.#recall(state);
    } else if (this.#begun) {
      if (isListed) state.recall(this.#evidence.found(workload, completeUpTo));
      this.#reevaluate(state, isListed ? this.#beginnings.found(version) : this.#beginnings.asOf(version));
    }
    this.runSeen(workload, state.born);
  }

  /** All that was to be done about these changes is done; `isRecorded`: the object itself says so. */
  settled(state: WorkloadState, changes: readonly Change[], seq: number, isRecorded: boolean): void {
    if (!isRecorded || state.reloads.restart) this.#deps.checkpoint.touch(workloadKey(state.workload.ref));
    state.settled(changes, seq);
  }

  /** A pass is over. What came while it was under way, a source's change or another writer's, counts from now on. */
  passDone(state: WorkloadState): void {
    const key = workloadKey(state.workload.ref);
    if (this.states.get(key) !== state) return;
    state.noticeRevert();
    this.#reevaluate(state, this.#beginnings.asOf(Number(state.workload.resourceVersion)));
    if (state.waiting.size > 0) this.schedule(key, state);
  }

  /** The pods have the data of a change already, by a rollout whose writer could not tell. */
  delivered(state: WorkloadState, change: Change): void {
    state.delivered(change);
    this.#carryOut(state);
  }

  /** A Job may tell that it was started for changes of data, by us or by another leader; `born` as in its state. */
  runSeen(job: Workload, born: number | undefined): void {
    const key = this.#runs.note(job);
    const cronJob = key && this.states.get(key);
    const record = cronJob && this.#records.recordOf(cronJob.workload);
    if (!this.#begun || !record || record.seq < cronJob.seq) return;
    const { workload } = cronJob;
    cronJob.ran(born === undefined ? this.#records.templateTime(workload, record) : { after: born, upTo: born });
    this.#reevaluate(cronJob, this.#beginnings.asOf(born ?? Number(workload.resourceVersion)));
  }

  workloadGone(key: WorkloadKey): void {
    const state = this.states.get(key);
    if (!state) return;
    this.states.delete(key);
    this.nextVersions.came(state);
    this.verdicts.leave(state.workload);
    this.#runs.forget(key);
    this.#deps.queue.remove(key);
    this.#deps.checkpoint.gone(key);
    this.#deps.report.forget(state.workload);
  }

  /** Everything is listed and read: settle what each workload runs with, and from now on follow. */
  begin(): void {
    this.#begun = true;
    for (const state of this.states.values()) {
      if (state.born === undefined) this.#recall(state);
      else this.#reevaluate(state, this.#beginnings.asOf(state.born));
    }
  }

  /** A term began: look at everything once more, and know what the leader before us settled. */
  termBegan(): void {
    for (const state of this.states.values()) state.termBegan(this.#records.reloadsOf(state.workload));
    this.#lookAgain(Number.POSITIVE_INFINITY);
  }

  /** A namespace came into scope or left it, at a version of the server: what changes from then on counts. */
  namespaceChanged(namespace: string, version: number): void {
    this.#lookAgain(version, namespace);
  }

  /**
   * From a version on something else is asked for these workloads, by ReloaderConfigs or consents that came or went; `isListed`:
   * a listing shows it.
   */
  asksChanged(keys: Iterable<WorkloadKey>, version: number, isListed = false): void {
    const beginning = isListed ? this.#beginnings.askFound(version) : this.#beginnings.asked(version);
    for (const key of keys) {
      const state = this.states.get(key);
      if (state) this.#enter(state, version, beginning);
      this.#askedAnew(key, version, beginning);
    }
  }

  schedule(key: WorkloadKey, state: WorkloadState): void {
    this.#deps.report.queued();
    this.#deps.queue.schedule(key, dueTime(state, this.#deps.timing));
  }

  #seenAgain(state: WorkloadState, workload: Workload, by: SeenBy, completeUpTo: number): void {
    const key = workloadKey(workload.ref);
    const news: Sighting['news'] = () => {
      const record = this.#records.newerThan(state.seq, workload);
      return record && { heardUpTo: record.seen };
    };
    const sighting = { by, completeUpTo, news, isFollowing: this.#begun };
    const { moment, isSpec, isEdited, isComplete } = state.seen(workload, sighting);
    if (isComplete) this.#deps.checkpoint.completed(key);
    this.nextVersions.came(state);
    if (isEdited && by !== 'write') this.#release(key, state);
    if (isSpec) this.#enter(state);
    // After a write of ours everything is looked at when the pass is done.
    const beginning = by === 'list' ? this.#beginnings.asOf(moment) : this.#beginnings.asked(moment);
    if (isSpec && this.#begun && by !== 'write') this.#reevaluate(state, beginning);
    else this.#carryOut(state);
  }

  /** A workload takes its place; the owner of a template that it borrowed may have to be looked at again. */
  #enter({ workload }: WorkloadState, version = Number(workload.resourceVersion), beginning?: Beginning): void {
    this.#askedAnew(this.verdicts.enter(workload), version, beginning ?? this.#beginnings.asOf(version));
  }

  #askedAnew(key: WorkloadKey | undefined, version: number, beginning: Beginning): void {
    const state = key && this.states.get(key);
    if (!state || !this.#begun) return;
    state.askedAnew(version);
    this.#reevaluate(state, beginning);
    this.#release(key, state);
  }

  /** What could not be written as it was may go now, and what is asked for may want another time. */
  #release(key: WorkloadKey, state: WorkloadState): void {
    this.#deps.queue.release(key);
    if (state.waiting.size > 0) this.schedule(key, state);
  }

  #lookAgain(version: number, namespace?: string): void {
    if (!this.#begun) return;
    for (const [key, state] of this.states) {
      if (namespace !== undefined && !reachesInto(this.#deps, state.workload.ref, namespace)) continue;
      const entry = this.#deps.checkpoint.entry(key, state.workload.uid);
      // The leader before us settled things that stand on no object; its number is then higher than ours.
      if (entry && entry.seq > state.seq) state.adopt(entry, entry.applied);
      this.#reevaluate(state, this.#beginnings.asOf(Math.max(version, state.editedAt)));
      if (state.waiting.size > 0) this.schedule(key, state);
    }
  }

  /** A workload that was there before us. */
  #recall(state: WorkloadState): void {
    const { workload } = state;
    state.recall(this.#evidence.recalled(workload));
    this.#reevaluate(state, this.#beginnings.recalled(), this.#records.sourcesOf(workload));
  }

  /** Goes through all that concerns a workload. */
  #reevaluate(state: WorkloadState, beginning: Beginning, remembered?: readonly SourceId[]): void {
    const { workload } = state;
    const record = this.#records.newerThan(state.seq, workload);
    if (record) state.adopt({ seq: record.seq, reloadedAt: record.at }, record.sources);
    const concerned = new Set<SourceId>();
    for (const ref of concernsOf(this.#deps, workload.ref, remembered ?? state.applied.keys())) {
      const verdict = this.verdicts.of(workload, ref);
      if (!staysOpen(verdict)) continue;
      concerned.add(sourceId(ref, workload.ref.namespace));
      this.#compare(state, ref, verdict, beginning);
    }
    for (const id of state.applied.keys()) if (!concerned.has(id)) state.forget(id);
    this.#carryOut(state);
    const { problems } = this.verdicts.asking(workload).intent;
    const isTold = problems.length > 0 && this.#deps.inScope(workload.ref.namespace);
    if (isTold) this.#deps.report.tell({ is: 'invalid', workload, problems });
  }

  #compare(state: WorkloadState, ref: SourceRef, verdict: Verdict, { data, version }: Beginning): void {
    const { sources, listed, clock, lifecycle: flags } = this.#deps;
    if (!staysOpen(verdict)) {
      state.forget(sourceId(ref, state.workload.ref.namespace));
      return;
    }
    // What could not be listed is not known to be absent.
    if (sources.current(ref) === ABSENT && !listed.has(ref)) return;
    const lifecycle = lifecycleOf(ref.kind, flags, verdict.reload ? verdict.ask.overrides : undefined);
    const { strategy } = wishOf(verdict, this.#deps.policy);
    const asOf = version?.(state, ref, verdict);
    const begunWith = (): Applied => data(state, ref, verdict);
    state.compare(ref, { strategy, lifecycle, begunWith, asOf }, clock.now());
  }

  /** What a workload's transitions ask for. */
  #carryOut(state: WorkloadState): void {
    const effects = state.takeEffects();
    if (!effects) return;
    const { checkpoint, want, report } = this.#deps;
    const key = workloadKey(state.workload.ref);
    if (effects.isLedgerMoved) checkpoint.touch(key);
    for (const ref of effects.toRead) want(ref);
    for (const outcome of outcomesOf(state.workload, effects)) report.tell(outcome);
    if (effects.isDue) this.schedule(key, state);
  }
}
