import { CONFIG_HASH, LAST_RELOADED_FROM } from '../../api/annotations.ts';
import type { SourceRef } from '../../api/sources.ts';
import type { StakaterStrategy, Strategy } from '../asks/ask.ts';
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
  { compat, sources }: Pick<StateRules, 'compat' | 'sources'>,
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

/** A mark of ours in a template, as it was written. */
interface OwnMark {
  readonly mark: string;
  /** What it stands for. */
  readonly data: Applied;
  readonly strategy: StakaterStrategy;
  /** Second of the decision, by the server's clock. */
  readonly second: number;
}

/** The marks that we wrote to a template, each with its own strategy, so that we notice when another writer takes one away. */
export class OwnMarks {
  readonly #marks = new SparseMap<SourceId, OwnMark>();
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
    // The annotation has room for one cause only, and of two sources that share a variable the last one has it.
    const written = new Map(write.changes.map((change) => [placeOf(change.ref, change.verdict.strategy), change]));
    const places = new Set([...write.edit.env.map(({ variable }) => variable), ...written.keys()]);
    // What we took away or wrote over ourselves, nobody else did.
    for (const [id, { strategy }] of this.#marks.entries) {
      if (places.has(placeOf(refOf(id, namespace), strategy))) this.#marks.delete(id);
    }
    for (const { id } of write.changes) this.#marks.delete(id);
    for (const { id, mark, current, verdict } of written.values()) {
      const { strategy } = verdict;
      if (mark !== undefined && strategy !== 'config-hash')
        this.#marks.set(id, { mark, data: current, strategy, second: write.second });
    }
  }

  /** Somebody edited the template: what was given up may go now. Marks on a template that is new are nobody's to restore. */
  templateEdited(isNew: boolean): void {
    this.#givenUp.clear();
    if (!isNew) return;
    this.#reapplied.clear();
    this.#marks.clear();
    this.#hash = undefined;
  }

  /** Every pod is of the template that carries the marks: whoever takes them away from now on undoes nothing. */
  arrived(): void {
    for (const id of [...this.#marks.entries.keys(), ...(this.#hash?.data.keys() ?? [])]) this.#reapplied.delete(id);
    this.#marks.clear();
    this.#hash = undefined;
  }

  /** Another leader may have written since. */
  forget(): void {
    for (const noted of [this.#marks, this.#reapplied, this.#givenUp]) noted.clear();
    this.#hash = undefined;
  }

  /** Sources whose mark is gone although the template is the same, with the data that it stood for. Each of them once. */
  takeLost(workload: Workload, rules: StateRules): ReadonlyMap<SourceId, Applied> {
    const lost = new Map<SourceId, Applied>();
    for (const [id, own] of this.#marks.entries) {
      const ref = refOf(id, workload.ref.namespace);
      if (isTaken(workload, ref, own) && !isMarked(workload, ref, own.strategy, rules.sources)) lost.set(id, own.data);
    }
    for (const id of lost.keys()) this.#marks.delete(id);
    if (!this.#hash?.isTaken(workload, rules)) return lost;
    const { data } = this.#hash;
    this.#hash = undefined;
    return new Map([...lost, ...data]);
  }

  /** What was undone is applied once more, then never again. Newer data was not undone: it is still to be applied. */
  undone(lost: ReadonlyMap<SourceId, Applied>, { ref: { namespace } }: Workload, { sources }: StateRules): TakenMarks {
    const again: SourceRef[] = [];
    const givenUp: SourceRef[] = [];
    for (const [id, data] of lost) {
      const ref = refOf(id, namespace);
      const isCurrent = data === sources.current(ref);
      const isAgain = !isCurrent || this.#reapplied.get(id) !== data;
      (isAgain ? again : givenUp).push(ref);
      if (!isAgain) this.#givenUp.set(id, true);
      else if (isCurrent) this.#reapplied.set(id, data);
    }
    return { again, givenUp };
  }
}

/** Where in a template a mark stands: the name of a variable or of an annotation. */
function placeOf({ kind, name }: SourceRef, strategy: Strategy): string {
  if (strategy === 'config-hash') return CONFIG_HASH;
  return strategy === 'annotations' ? LAST_RELOADED_FROM : variableName(kind, name);
}

function isTaken(workload: Workload, ref: SourceRef, { mark, strategy, second }: OwnMark): boolean {
  if (strategy === 'env-vars') {
    const carries = carriesMark(workload, ref, mark, strategy);
    return carries === 'missing' || carries === 'different';
  }
  // A later reload, whoever made it and whatever for, brought newer pods.
  const text = workload.templateAnnotations[LAST_RELOADED_FROM];
  return text === undefined || (parseLastReloadedFrom(text)?.observedAt ?? 0) < second;
}
