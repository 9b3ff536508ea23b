import { CONFIG_HASH, LAST_RELOADED_FROM } from '../../api/annotations.ts';
import type { SourceRef } from '../../api/sources.ts';
import type { StakaterStrategy } from '../asks/ask.ts';
import { ABSENT, type Applied } from '../ledger/applied.ts';
import { refOf, type SourceId } from '../ledger/source-id.ts';
import type { Change } from '../outcome/change.ts';
import { carriesMark, parseLastReloadedFrom, variableName } from '../template/marks.ts';
import type { TemplateEdit } from '../template/template-edit.ts';
import type { Workload } from '../workload/workload.ts';
import { hashSays, OwnHash } from './own-hash.ts';
import type { SourcePast, StateRules } from './source-past.ts';
import { SparseMap } from './sparse-map.ts';
import type { Comparison } from './transitions.ts';

/** A write of ours that the server accepted. */
export interface OwnWrite {
  readonly changes: readonly Change[];
  readonly edit: TemplateEdit;
  /** Of Stakater's marks. */
  readonly strategy: StakaterStrategy;
  /** Second of the decision, by the server's clock. */
  readonly second: number;
  /** The config hash that the template had until then. */
  readonly hashBefore?: string | undefined;
}

/** Sources whose mark another writer took away: to be applied once more, or given up. */
export interface TakenMarks {
  readonly again: readonly SourceRef[];
  readonly givenUp: readonly SourceRef[];
}

/** Whether the template carries the mark of the source's present data. */
function isMarked(workload: Workload, ref: SourceRef, strategy: StakaterStrategy, sources: SourcePast): boolean {
  const mark = sources.get(ref)?.fingerprint?.mark;
  return mark !== undefined && !sources.isAmbiguous(ref) && carriesMark(workload, ref, mark, strategy) === 'equal';
}

/** One source of a workload, as it is marked and believed. */
interface Marked {
  readonly strategy: Comparison['strategy'];
  readonly applied?: Applied;
}

/**
 * Stakater: the template's mark says whether the pods run with the current data. It is trusted under compat only: another
 * writer may have brought other data since, and left the mark as it was.
 */
export function isSettledByMark(
  workload: Workload,
  ref: SourceRef,
  { strategy, applied }: Marked,
  { compat, sources }: StateRules,
): boolean {
  // A restart leaves the template alone: the marks on it are of some earlier time.
  if (strategy === undefined) return false;
  // Upstream's annotation is written for each event, and to be created is one.
  if (!compat || strategy === 'config-hash' || (strategy === 'annotations' && applied === ABSENT)) return false;
  // One of another namespace shares its mark with one of the workload's own.
  if (ref.namespace !== workload.ref.namespace) return false;
  return isMarked(workload, ref, strategy, sources);
}

/** What marks say that are trusted: of the data as it is, or, as only a digest of everything can, of any other. */
export const markSays = (workload: Workload, ref: SourceRef, marked: Marked, rules: StateRules) =>
  hashSays(workload, ref, rules) ?? (isSettledByMark(workload, ref, marked, rules) ? 'current' : undefined);

/** The marks of our last write to a workload, so that we notice when another writer takes them away. */
export class OwnMarks {
  readonly #marks = new SparseMap<SourceId, string>();
  #second = 0;
  #strategy: StakaterStrategy = 'env-vars';
  #hash: OwnHash | undefined;
  /** Data that was taken away from the template and applied a second time. There is no third. */
  readonly #reapplied = new SparseMap<SourceId, Applied>();
  /** Changes that another writer keeps undoing: visible, and tried again when template or data change. */
  readonly #givenUp = new SparseMap<SourceId, true>();

  get givenUp(): number {
    return this.#givenUp.size;
  }

  /** Whether this very data was given up. */
  isGivenUp(id: SourceId, data: Applied): boolean {
    return this.#givenUp.has(id) && this.#reapplied.get(id) === data;
  }

  /** Whatever was given up about this source is to be tried again, or no longer asked for. */
  renew(id: SourceId): void {
    this.#givenUp.delete(id);
  }

  wrote(write: OwnWrite, namespace: string): void {
    const { [CONFIG_HASH]: hash } = write.edit.annotations;
    if (hash !== undefined) this.#hash = new OwnHash(hash, write, this.#hash);
    const changes = write.changes.filter(({ verdict }) => verdict.strategy !== 'config-hash');
    if (changes.length > 0) this.#marked({ ...write, changes }, namespace);
  }

  #marked({ changes, edit, strategy, second }: OwnWrite, namespace: string): void {
    this.#second = second;
    this.#strategy = strategy;
    // The annotation has room for one cause only: the last.
    if (strategy === 'annotations') this.#marks.clear();
    const noted = strategy === 'annotations' ? changes.slice(-1) : changes;
    // Of two sources that share a variable the last one has it.
    const marks = new Map(noted.map((change) => [variableName(change.ref.kind, change.ref.name), change]));
    // What we took away or wrote over ourselves, nobody else did.
    const ours = new Set([...edit.env.map(({ variable }) => variable), ...marks.keys()]);
    for (const id of this.#marks.entries.keys()) {
      const { kind, name } = refOf(id, namespace);
      if (ours.has(variableName(kind, name))) this.#marks.delete(id);
    }
    for (const { id, mark } of marks.values()) if (mark !== undefined) this.#marks.set(id, mark);
  }

  /** Somebody edited the template: what was given up may go now. Marks on a template that is new are nobody's to restore. */
  templateEdited(isNew: boolean): void {
    this.#givenUp.clear();
    if (!isNew) return;
    this.#reapplied.clear();
    this.#marks.clear();
    this.#hash = undefined;
  }

  /** Another leader may have written since. */
  forget(): void {
    for (const noted of [this.#marks, this.#reapplied, this.#givenUp]) noted.clear();
    this.#hash = undefined;
  }

  /** Marks that are gone although the template is the same: applied once more, then never again. Told once. */
  taken(workload: Workload, rules: StateRules): TakenMarks {
    const again: SourceRef[] = [];
    const givenUp: SourceRef[] = [];
    for (const id of this.#takeLost(workload, rules)) {
      const ref = refOf(id, workload.ref.namespace);
      const current = rules.sources.current(ref);
      const isAgain = this.#reapplied.get(id) !== current;
      (isAgain ? again : givenUp).push(ref);
      if (isAgain) this.#reapplied.set(id, current);
      else this.#givenUp.set(id, true);
    }
    return { again, givenUp };
  }

  /** Sources whose mark is gone, each of them once. */
  #takeLost(workload: Workload, rules: StateRules): Iterable<SourceId> {
    const lost = new Set<SourceId>();
    for (const [id, mark] of this.#marks.entries) {
      const ref = refOf(id, workload.ref.namespace);
      const isLost = this.#isTaken(workload, ref, mark) && !isMarked(workload, ref, this.#strategy, rules.sources);
      if (isLost) lost.add(id);
    }
    for (const id of lost) this.#marks.delete(id);
    if (!this.#hash?.isTaken(workload, rules)) return lost;
    const { ids } = this.#hash;
    this.#hash = undefined;
    return new Set([...lost, ...ids]);
  }

  #isTaken(workload: Workload, ref: SourceRef, mark: string): boolean {
    if (this.#strategy === 'env-vars') {
      const carries = carriesMark(workload, ref, mark, 'env-vars');
      return carries === 'missing' || carries === 'different';
    }
    // A later reload, whoever made it and whatever for, brought newer pods.
    const text = workload.templateAnnotations[LAST_RELOADED_FROM];
    return text === undefined || (parseLastReloadedFrom(text)?.observedAt ?? 0) < this.#second;
  }
}
