import type { SourceRef } from '../../api/sources.ts';
import { ABSENT, type Applied, UNKNOWN } from '../ledger/applied.ts';
import { refOf, type SourceId } from '../ledger/source-id.ts';
import type { PodTimes, TemplateTime } from './pod-times.ts';
import type { SeenTemplate } from './recent-templates.ts';
import type { SourcePast } from './source-past.ts';
import { SparseMap } from './sparse-map.ts';

/** What the pods of a workload run with, for each source that would roll it. */
export class AppliedData {
  readonly #namespace: string;
  readonly #pods: PodTimes;
  readonly #sources: SourcePast;
  readonly #data = new Map<SourceId, Applied>();
  /** Settled because another writer's template is newer: open again if that template goes. */
  readonly #byAnother = new SparseMap<SourceId, true>();

  constructor(namespace: string, pods: PodTimes, sources: SourcePast) {
    this.#namespace = namespace;
    this.#pods = pods;
    this.#sources = sources;
  }

  get entries(): ReadonlyMap<SourceId, Applied> {
    return this.#data;
  }

  copy(): ReadonlyMap<SourceId, Applied> {
    return new Map(this.#data);
  }

  get(id: SourceId): Applied | undefined {
    return this.#data.get(id);
  }

  set(id: SourceId, applied: Applied): void {
    this.#data.set(id, applied);
  }

  delete(id: SourceId): boolean {
    return this.#data.delete(id);
  }

  /** Whether new pods, whoever made them, run with the present data of a source already. */
  isBrought(ref: SourceRef, id: SourceId, current: Applied): boolean {
    const applied = this.#data.get(id);
    if (current === ABSENT || current === UNKNOWN || applied === ABSENT || applied === current) return false;
    return this.#pods.areNewerThan(ref);
  }

  trustAnother(id: SourceId): void {
    this.#byAnother.set(id, true);
  }

  /** From here on pods are of a template of ours. */
  rolledByUs(): void {
    this.#byAnother.clear();
  }

  /** New pods began with what there was when they were made, which need not be what there is now. */
  podsReplaced(): void {
    const { after, upTo } = this.#pods.template;
    for (const [id, applied] of this.#data) {
      const ref = refOf(id, this.#namespace);
      if (applied === ABSENT || this.#sources.since(ref) <= after) continue;
      this.#data.set(id, this.#sources.during(ref, after, upTo));
    }
  }

  /**
   * Pods of these templates may be running again, and new ones as well. What was settled by pods of another writer's
   * template is open in any case: they may be on their way out.
   */
  returned(templates: readonly SeenTemplate[], when: TemplateTime): void {
    for (const [id, applied] of this.#data) {
      if (applied === ABSENT) continue;
      const isTrusted = this.#byAnother.has(id);
      const now = isTrusted ? UNKNOWN : this.#pods.afterReturn(refOf(id, this.#namespace), id, templates, when);
      if (now !== undefined) this.#data.set(id, now);
    }
    this.#byAnother.clear();
  }
}
