import type { SourceRef } from '../../api/sources.ts';
import { ABSENT, type Applied, type Lifecycle, UNKNOWN } from '../ledger/applied.ts';
import type { Restart } from '../ledger/restart.ts';
import { refOf, type SourceId, sourceId } from '../ledger/source-id.ts';
import type { Change } from '../outcome/change.ts';
import type { Workload } from '../workload/workload.ts';
import { hadOf, RecentTemplates, type SeenTemplate } from './recent-templates.ts';
import { isOrdered, type StateRules } from './source-past.ts';
import { SparseMap } from './sparse-map.ts';

/**
 * When the template was written that the pods are made of, in versions of the server: after one, and not after another. All
 * pods are newer than `after`. Between the two only the server's history can tell.
 */
export interface TemplateTime {
  readonly after: number;
  readonly upTo: number;
  /** The Job that was started then, where pods come from Jobs. */
  readonly job?: string | undefined;
  /** The workload's revision at `after`, where somebody may have edited the template more than once since. */
  readonly base?: string | undefined;
  /** It is a template that was there before: older pods may be among them, and no order proves otherwise. */
  readonly isReturn?: true;
}

export const UNKNOWN_TIME: TemplateTime = { after: -1, upTo: -1 };

const broughtBy = (restart: Restart | undefined): SourceId[] => Object.keys(restart?.changes ?? {}) as SourceId[];

/** What the pods of a workload run with, which follows from when they were made. */
export class PodData {
  /** For each source that would roll the workload. */
  readonly applied = new Map<SourceId, Applied>();
  readonly templates: RecentTemplates;
  readonly #rules: StateRules;
  readonly #namespace: string;
  /** Of these, those that count when they come and when they go: to be absent is then data like any other. */
  readonly #counted = new SparseMap<SourceId, true>();
  /** Of these, those that count from a version on which was told before all that came before it. */
  readonly #countsAfter = new SparseMap<SourceId, number>();
  /** Settled because another writer's template is newer: open again if that template goes. */
  readonly #byAnother = new SparseMap<SourceId, true>();
  #template: TemplateTime;
  /** Where our write started from, and what the pods of that template run with. */
  #writing: { readonly from: SeenTemplate | undefined; readonly had: ReadonlyMap<SourceId, Applied> } | undefined;
  /** Versions between which pods were last being replaced; without an end while they are. */
  #replaced: { readonly from: number; readonly to: number };

  constructor(workload: Workload, born: number | undefined, foundAfter: number, rules: StateRules) {
    this.#rules = rules;
    this.#namespace = workload.ref.namespace;
    this.templates = new RecentTemplates(workload, born ?? foundAfter, born !== undefined);
    this.#template = born === undefined ? UNKNOWN_TIME : { after: born, upTo: born };
    this.#replaced = { from: born ?? 0, to: workload.isRolledOut ? 0 : Number.POSITIVE_INFINITY };
  }

  get template(): TemplateTime {
    return this.#template;
  }

  templateWritten(when: TemplateTime): void {
    this.#template = when;
  }

  /** Whether pods that are older than the present template may be among those that it keeps. */
  mayKeepOlder(workload: Workload): boolean {
    const isNew = this.#template.isReturn !== true && !this.templates.mayHaveEarlier;
    return !isNew || this.#rules.lendsTemplate(workload);
  }

  rolloutBegan(after: number): void {
    this.#replaced = { from: after, to: Number.POSITIVE_INFINITY };
  }

  rolloutCompleted(version: number): void {
    this.#replaced = { from: this.#replaced.from, to: version };
  }

  /**
   * What a source held from a version on is not known: nor is what pods began with that were made since, or still are. True
   * if that was known before.
   */
  lostSightOf(id: SourceId, from: number): boolean {
    const applied = this.applied.get(id);
    const isMadeSince = this.#template.upTo >= from || from < this.#replaced.to;
    if (this.#rules.compat || !isMadeSince || applied === undefined || this.isNothing(id, applied)) return false;
    this.applied.set(id, UNKNOWN);
    return true;
  }

  /** What whoever asks for a source says about its coming and going. */
  heed(id: SourceId, { reloadOnCreate, reloadOnDelete }: Lifecycle): void {
    if (reloadOnCreate && reloadOnDelete) this.#counted.set(id, true);
    else this.#counted.delete(id);
  }

  /**
   * Whether this says that a source is absent, and that says nothing: where its creation does not count, what is not known
   * of it must not become a change when it comes.
   */
  isNothing(id: SourceId, data: Applied): boolean {
    return data === ABSENT && !this.#counted.has(id);
  }

  /** What a source held up to a version is no change. */
  countsAfter(id: SourceId, version: number | undefined): void {
    const isKnown = version !== undefined && Number.isFinite(version) && isOrdered(this.#rules);
    if (isKnown) this.#countsAfter.set(id, version);
    else this.#countsAfter.delete(id);
  }

  /** Others come, or some that were there before: what they run with is told by their age, not by who asks. */
  podsChange(): void {
    this.#countsAfter.clear();
  }

  /** Whether the present data of a source is of that time, though we heard of it only later. */
  isFromBefore(ref: SourceRef): boolean {
    const after = this.#countsAfter.get(sourceId(ref, this.#namespace));
    return after !== undefined && this.#rules.sources.since(ref) <= after;
  }

  /** Whether new pods, whoever made them, run with the present data of a source already. */
  isBrought(ref: SourceRef, applied: Applied, current: Applied): boolean {
    const { sources } = this.#rules;
    const id = sourceId(ref, this.#namespace);
    if (current === UNKNOWN || applied === current) return false;
    if (this.isNothing(id, applied) || this.isNothing(id, current)) return false;
    // Of what was gone before our time nobody knows since when.
    const since = current === ABSENT ? sources.movedAt(ref) : sources.since(ref);
    return this.#template.after >= since && (since > 0 || current !== ABSENT);
  }

  settledByAnother(id: SourceId): void {
    this.#byAnother.set(id, true);
  }

  /** Our write is on its way: what is seen meanwhile says nothing about it. */
  get isWriting(): boolean {
    return this.#writing !== undefined;
  }

  writeBegan(): void {
    this.#writing = { from: this.templates.newest, had: new Map(this.applied) };
  }

  writeEnded(): void {
    this.#writing = undefined;
  }

  writeAccepted(changes: readonly Change[], isTemplate: boolean): void {
    const { from, had } = this.#writing ?? {};
    this.#writing = undefined;
    if (isTemplate) {
      this.#byAnother.clear();
      this.templates.wroteNew();
    }
    if (from) from.had ??= had;
    for (const { id, current } of changes) this.applied.set(id, current);
  }

  /** Some pods may have the data that a restart brings, and some may not: to go back to what there was is a change, too. */
  open(restart: Restart | undefined): void {
    for (const id of broughtBy(restart)) if (this.applied.has(id)) this.applied.set(id, UNKNOWN);
  }

  /** None of its pods has gone: what they `had` they have, unless more is known meanwhile. */
  close(restart: Restart | undefined, had: ReadonlyMap<SourceId, Applied>): void {
    for (const id of broughtBy(restart)) {
      if (this.applied.get(id) === UNKNOWN) this.applied.set(id, had.get(id) ?? UNKNOWN);
    }
  }

  /** New pods began with what there was when they were made, which need not be what there is now. */
  replaced(): void {
    const { sources } = this.#rules;
    const { after, upTo } = this.#template;
    for (const [id, applied] of this.applied) {
      const ref = refOf(id, this.#namespace);
      if (!this.isNothing(id, applied) && sources.since(ref) > after)
        this.applied.set(id, sources.during(ref, after, upTo));
    }
  }

  /**
   * Pods of these templates may be running again, and new ones as well: only what both have is known. What was settled by
   * pods of another writer's template is open in any case: they may be on their way out.
   */
  returned(templates: readonly SeenTemplate[], when: TemplateTime): void {
    for (const [id, applied] of this.#rules.compat ? [] : this.applied) {
      if (this.isNothing(id, applied)) continue;
      const now = this.#byAnother.has(id) ? UNKNOWN : this.#afterReturn(id, templates, when);
      if (now !== undefined) this.applied.set(id, now);
    }
    this.#byAnother.clear();
    this.#template = { after: -1, upTo: when.upTo, isReturn: true };
  }

  /** The template went there and back again, and nobody saw it: pods from before may be left, with what they had. */
  revisited(template: SeenTemplate, when: TemplateTime): void {
    const before = new Map(this.applied);
    this.returned([template], when);
    for (const [id, applied] of before) if (this.applied.get(id) !== applied) this.applied.set(id, UNKNOWN);
  }

  /**
   * Whether pods may have begun with what a source held before, with what it holds now, or with anything in between: it
   * changed about when the template did, or while pods were being made. Going back to what it held changes nothing then.
   */
  mayDiffer(ref: SourceRef, applied: Applied, current: Applied, { isRolledOut }: Workload): boolean {
    const { compat, sources } = this.#rules;
    const id = sourceId(ref, this.#namespace);
    if (compat || current === UNKNOWN || this.isNothing(id, applied) || this.isNothing(id, current)) return false;
    if (!isOrdered(this.#rules)) return applied !== current && !isRolledOut;
    const { after, upTo } = this.#template;
    const since = sources.since(ref);
    const movedAt = sources.movedAt(ref);
    const isBeside = since > after && since <= upTo && applied !== current;
    // Where nothing is known of the rollout itself, only what differs anyway can be open.
    const isAfter = upTo < 0 ? applied !== current : movedAt > upTo;
    return isBeside || (isAfter && movedAt > this.#replaced.from && movedAt < this.#replaced.to);
  }

  /** Undefined: nothing speaks against what was believed. */
  #afterReturn(id: SourceId, templates: readonly SeenTemplate[], { after, upTo }: TemplateTime): Applied | undefined {
    const ref = refOf(id, this.#namespace);
    const begun = isOrdered(this.#rules) ? this.#rules.sources.during(ref, after, upTo) : this.#unmoved(ref);
    if (this.#isUnseen(ref) || templates.some((each) => this.#hadBy(each, ref, id, upTo) !== begun)) return UNKNOWN;
    return templates.length > 0 || this.templates.unseenAfter !== undefined ? begun : undefined;
  }

  /** Whether pods of templates that we did not see may have other data. */
  #isUnseen(ref: SourceRef): boolean {
    const { unseenAfter } = this.templates;
    if (unseenAfter === undefined) return false;
    return isOrdered(this.#rules) ? this.#rules.sources.since(ref) > unseenAfter : this.#unmoved(ref) === UNKNOWN;
  }

  /** Without an order, only what never changed is known to have been the same. */
  #unmoved(ref: SourceRef): Applied {
    const { sources } = this.#rules;
    return sources.movedAt(ref) === 0 ? sources.current(ref) : UNKNOWN;
  }

  /**
   * What pods of an earlier template run with: some may have been made until now. News of sources may have come late, and
   * then what was believed when the template was left is wrong.
   */
  #hadBy(template: SeenTemplate, ref: SourceRef, id: SourceId, now: number): Applied {
    const { sources } = this.#rules;
    if (sources.movedAt(ref) === 0 || !isOrdered(this.#rules)) return hadOf(template, id);
    if (template.since > 0) return sources.during(ref, template.since, now);
    return sources.isMovedBy(ref, now) ? UNKNOWN : hadOf(template, id);
  }
}
