import type { SourceRef } from '../../api/sources.ts';
import { type Applied, compare, UNKNOWN } from '../ledger/applied.ts';
import type { Restart } from '../ledger/restart.ts';
import { type SourceId, sourceId } from '../ledger/source-id.ts';
import type { Change } from '../outcome/change.ts';
import { isAlike, type Workload } from '../workload/workload.ts';
import { AskedEffects, type Effects } from './effects.ts';
import { markSays, OwnMarks, type OwnWrite } from './own-marks.ts';
import { type KeptReloads, OwnReloads } from './own-reloads.ts';
import { PodData, type TemplateTime } from './pod-data.ts';
import type { RecentTemplates } from './recent-templates.ts';
import { isOrdered, type StateRules } from './source-past.ts';
import { goesByMarks, isTaken, noticeRevert, templateSeen } from './template-changes.ts';
import type { Adopted, Comparison, Movement, Recalled, Sighting } from './transitions.ts';
import { WaitingChanges } from './waiting-changes.ts';

/**
 * Everything believed about one workload: what its pods run with, what waits, and how we know. Written to by nobody but its
 * own transitions.
 *
 * What holds after each of them, and is proven by test/model: at rest everything asked for is applied, waiting or visibly
 * given up; a change that waits stays until it is written, settled, or no longer asked for; `seq` never goes back.
 */
export class WorkloadState {
  /** Version of its creation, if we saw it; undefined when it came from a listing. */
  readonly born: number | undefined;
  /** Version up to which it was certainly not there: a listing showed it later, or not before our time (0). */
  readonly foundAfter: number;
  readonly reloads: OwnReloads;
  readonly #rules: StateRules;
  readonly #pods: PodData;
  readonly #marks = new OwnMarks();
  readonly #waiting = new WaitingChanges();
  #workload: Workload;
  #editedAt: number;
  #isBlocked = false;
  readonly #effects = new AskedEffects();

  constructor(workload: Workload, rules: StateRules, born?: number, foundAfter = 0) {
    this.#workload = workload;
    this.#rules = rules;
    this.born = born;
    this.foundAfter = foundAfter;
    this.#editedAt = born ?? 0;
    this.reloads = new OwnReloads(workload);
    this.#pods = new PodData(workload, born, foundAfter, rules);
  }

  get workload(): Workload {
    return this.#workload;
  }
  get applied(): ReadonlyMap<SourceId, Applied> {
    return this.#pods.applied;
  }
  get waiting(): ReadonlyMap<SourceId, Applied> {
    return this.#waiting.entries;
  }
  /** Number of its newest record. */
  get seq(): number {
    return this.reloads.seq;
  }
  /** Version of the event with which its template or what is asked for it last changed; 0 while it stands as listed. */
  get editedAt(): number {
    return this.#editedAt;
  }
  get firstChangeAt(): number {
    return this.#waiting.firstAt;
  }
  get lastChangeAt(): number {
    return this.#waiting.lastAt;
  }
  /** How many changes another writer keeps undoing. */
  get undelivered(): number {
    return this.#marks.givenUp;
  }
  /** Nothing is written before its template or annotations change: one of them cannot be read. */
  get isBlockedUntilChanged(): boolean {
    return this.#isBlocked;
  }
  /** When the template was written that its pods are made of. */
  get templateTime(): TemplateTime {
    return this.#pods.template;
  }
  /** Templates of which pods may be left. */
  get templates(): Pick<RecentTemplates, 'kept' | 'mayHaveHad'> {
    return this.#pods.templates;
  }

  /** What the transitions since the last call ask of the outside; undefined: nothing. */
  takeEffects(): Effects | undefined {
    return this.#effects.take();
  }

  /** A term began: the ledger says what was before. */
  recall({ seq, reloads, templates, missedAfter, template }: Recalled): void {
    this.#heedLending();
    this.reloads.numbered(seq);
    this.reloads.recall(reloads);
    if (templates) this.#pods.templates.recall(templates.kept, templates.applied, this.#workload);
    if (missedAfter !== undefined) this.#pods.templates.missedAfter(missedAfter, this.#workload);
    if (template) this.#pods.templateWritten(template);
  }

  /** Another writer of ours, usually the leader before us, recorded what it did. */
  adopt({ seq, reloadedAt }: Adopted, said: Readonly<Partial<Record<SourceId, Applied>>>): void {
    for (const id of this.#pods.applied.keys()) {
      const applied = said[id];
      if (applied !== undefined) this.#pods.applied.set(id, applied);
    }
    this.reloads.numbered(seq);
    this.reloads.reloaded(reloadedAt);
  }

  /** We lead again, after others did: what they left on the template is not to be compared with what we wrote before them. */
  termBegan(kept: KeptReloads): void {
    this.#marks.forget();
    this.reloads.recall(kept);
    this.#pods.open(kept.restart);
  }

  /** At this version something else began to be asked for it. What its sources hold until then is no change. */
  askedAnew(version: number): void {
    this.#editedAt = Math.max(this.#editedAt, version);
    this.#heedLending();
  }

  /** A newer version of the object. */
  seen(workload: Workload, sighting: Sighting): Movement {
    const before = this.#workload;
    const version = Number(workload.resourceVersion);
    // What a listing shows may have happened at any moment since we last looked; the first is the safe one.
    const moment =
      sighting.by === 'list' ? Math.max(sighting.completeUpTo, Number(before.resourceVersion)) + 1 : version;
    this.#workload = workload;
    this.#heedLending();
    if (before.isRolledOut && !workload.isRolledOut) this.#pods.rolloutBegan(moment - 1);
    const isComplete = !before.isRolledOut && workload.isRolledOut;
    if (isComplete) this.#pods.rolloutCompleted(version);
    // The parser hands the same intent and references back while only status changed.
    const isSpec = before.intent !== workload.intent || before.references !== workload.references;
    const isEdited = isSpec && !isAlike(before, workload);
    if (isEdited) this.#editedAt = moment;
    if (before.fullTemplateDigest !== workload.fullTemplateDigest) this.#pods.podsChange();
    if (isEdited && sighting.by !== 'write') this.#isBlocked = false;
    if (isSpec) this.#effects.note(templateSeen(this.#parts, { ...sighting, before, after: workload, moment }));
    if (isComplete) this.#allReplaced();
    return { moment, isSpec, isEdited, isComplete };
  }

  /** Rollouts can begin and cease to borrow the template at any time. */
  #heedLending(): void {
    this.#pods.templates.lent(this.#rules.lendsTemplate(this.#workload));
  }

  /** Every pod is of the present template. */
  #allReplaced(): void {
    if (this.#rules.lendsTemplate(this.#workload)) return;
    this.#pods.templates.onlyNewestLeft();
    if (!goesByMarks(this.#rules)) this.#marks.arrived();
  }

  /** A source against what the pods run with, after all that is known about them: a difference waits. */
  compare(ref: SourceRef, { strategy, lifecycle, begunWith, asOf }: Comparison, now: number): void {
    const id = this.#idOf(ref);
    const current = this.#rules.sources.current(ref);
    this.#pods.heed(id, lifecycle);
    if (!this.#pods.applied.has(id)) {
      const begun = begunWith();
      // Nobody has looked at it yet: what the pods began with will be known when it is read.
      if (begun === UNKNOWN && current === UNKNOWN) {
        this.#effects.all.toRead.push(ref);
        return;
      }
      this.#settle(id, begun);
      this.#pods.countsAfter(id, asOf);
    }
    this.#reconsider(id, ref, strategy);
    const difference = compare(this.#pods.applied.get(id) ?? UNKNOWN, current, lifecycle);
    if (difference === 'unread') this.#effects.all.toRead.push(ref);
    else if (difference === 'settle') this.#settle(id, current);
    else if (difference === 'same' || difference === 'keep') this.#waiting.delete(id);
    else this.#wait(id, current, now);
  }

  /** What the pods run with, if marks or what is known of their age say something else than what was believed. */
  #reconsider(id: SourceId, ref: SourceRef, strategy: Comparison['strategy']): void {
    const current = this.#rules.sources.current(ref);
    const applied = this.#pods.applied.get(id) ?? UNKNOWN;
    const said = markSays(this.#workload, ref, { strategy, applied }, this.#rules);
    if (said === 'other') {
      this.#pods.applied.set(id, UNKNOWN);
    } else if (said === 'current' || this.#pods.isFromBefore(ref)) {
      this.#settle(id, current);
    } else if (this.#pods.isBrought(ref, applied, current)) {
      // Its own creation is nobody else's rollout: the change only arrived late.
      if (this.#pods.template.after !== this.born) {
        this.#pods.settledByAnother(id);
        this.#effects.all.settledByAnother.push(ref);
      }
      this.#settle(id, current);
    } else if (this.#pods.mayDiffer(ref, applied, current, this.#workload)) {
      this.#pods.applied.set(id, UNKNOWN);
    }
  }

  /** It no longer waits: there is no difference any more, or nobody asks for it. */
  drop(id: SourceId): void {
    this.#waiting.delete(id);
  }

  /** The source does not concern the workload any more. */
  forget(id: SourceId): void {
    this.#waiting.delete(id);
    this.#marks.renew(id);
    if (this.#pods.applied.delete(id)) this.#effects.all.isLedgerMoved = true;
  }

  /** What a source held from a version on is not known. */
  lostSightOf(ref: SourceRef, from: number): void {
    if (this.#pods.lostSightOf(this.#idOf(ref), from)) this.#effects.all.isLedgerMoved = true;
  }

  /** A Job was started from a CronJob, for all that had changed until then. */
  ran(when: TemplateTime): void {
    if (isOrdered(this.#rules) && when.after >= this.#pods.template.after) this.#pods.templateWritten(when);
  }

  /** An annotation that must not be guessed cannot be read: nothing is written until it is mended. */
  block(): void {
    this.#isBlocked = true;
  }

  /** The pods have the data of a change already, by a rollout whose writer could not tell. */
  delivered({ id, ref, current }: Change): void {
    this.#settle(id, current);
    this.#effects.all.settledByAnother.push(ref);
  }

  /** Its pods are counted, and are going to be evicted. */
  restarting(restart: Restart): void {
    this.reloads.restarting(restart);
    this.#pods.open(restart);
  }

  /** That could not be written down: none of them goes, and all is as it was. `had`: what was applied. */
  notRestarting(before: Restart | undefined, had: WorkloadState['applied']): void {
    this.#pods.close(this.reloads.restart, had);
    this.reloads.recall({ restart: before });
  }

  writeBegan(): void {
    this.#pods.writeBegan();
  }

  /** The server did not take it, or nobody knows: whatever waits still waits. */
  writeEnded(): void {
    this.#pods.writeEnded();
  }

  /** The server took our PATCH. `write` is undefined where the template was not touched. */
  writeAccepted(changes: readonly Change[], write: OwnWrite | undefined, seq: number): void {
    this.reloads.numbered(seq);
    if (write) this.#marks.wrote(write, this.#workload.ref.namespace);
    this.#pods.writeAccepted(changes, write !== undefined);
  }

  /** All that was to be done about these changes is done, under this number. What came meanwhile still waits. */
  settled(changes: readonly Change[], seq: number): void {
    const { sources } = this.#rules;
    this.reloads.numbered(seq);
    this.reloads.restartEnded();
    for (const { id, current, ref, since } of changes) {
      this.#pods.applied.set(id, current);
      // A change that came while we wrote waits for the next pass. One there and back again may be in some of the pods.
      if (sources.since(ref) === since) this.#waiting.delete(id);
      else if (sources.current(ref) === current) this.#pods.applied.set(id, UNKNOWN);
    }
    this.#waiting.passDone();
  }

  /** Our marks may be gone though the template is the same: another writer undid the rollout. */
  noticeRevert(): void {
    const taken = noticeRevert(this.#parts, this.#workload);
    this.#effects.note({ isLedgerMoved: isTaken(taken), taken });
  }

  get #parts() {
    return { pods: this.#pods, marks: this.#marks, rules: this.#rules };
  }

  #wait(id: SourceId, current: Applied, now: number): void {
    if (this.#marks.isGivenUp(id, current) || !this.#waiting.add(id, current, now)) return;
    this.#marks.renew(id);
    this.#effects.all.isDue = true;
  }

  /** From now on this counts as what the pods run with. */
  #settle(id: SourceId, applied: Applied): void {
    this.#waiting.delete(id);
    this.#marks.renew(id);
    if (this.#pods.applied.get(id) === applied) return;
    this.#pods.applied.set(id, applied);
    this.#effects.all.isLedgerMoved = true;
  }

  #idOf(ref: SourceRef): SourceId {
    return sourceId(ref, this.#workload.ref.namespace);
  }
}
