import type { SourceRef } from '../../api/sources.ts';
import type { Outcome } from '../outcome/outcome.ts';
import type { Workload } from '../workload/workload.ts';
import type { TemplateNews } from './template-changes.ts';

/** What the transitions of a workload's state ask of the outside. */
export interface Effects {
  /** The checkpoint has to be written: no record on the object says what is believed now. */
  isLedgerMoved: boolean;
  /** Something waits, and its time has to be set. */
  isDue: boolean;
  /** Sources whose bytes have to be read before anything can be said. */
  readonly toRead: SourceRef[];
  /** Changes that are in the pods already, by a rollout of another writer. */
  readonly settledByAnother: SourceRef[];
  /** Changes whose mark another writer took away: they wait once more. */
  readonly reverted: SourceRef[];
  /** The same for the second time: they wait no more. */
  readonly undelivered: SourceRef[];
}

const noEffects = (): Effects => ({
  isLedgerMoved: false,
  isDue: false,
  toRead: [],
  settledByAnother: [],
  reverted: [],
  undelivered: [],
});

/** Effects until somebody takes them. */
export class AskedEffects {
  #effects: Effects | undefined;

  get all(): Effects {
    this.#effects ??= noEffects();
    return this.#effects;
  }

  note({ isLedgerMoved, taken }: TemplateNews): void {
    if (!isLedgerMoved) return;
    this.all.isLedgerMoved = true;
    this.all.reverted.push(...taken.again);
    this.all.undelivered.push(...taken.givenUp);
  }

  take(): Effects | undefined {
    const effects = this.#effects;
    this.#effects = undefined;
    return effects;
  }
}

export function outcomesOf(
  workload: Workload,
  { settledByAnother, reverted, undelivered }: Effects,
): readonly Outcome[] {
  const outcomes: Outcome[] = [];
  const add = (is: 'settled-by-another-writer' | 'reverted' | 'undelivered', sources: readonly SourceRef[]): void => {
    if (sources.length > 0) outcomes.push({ is, workload, sources });
  };
  add('settled-by-another-writer', settledByAnother);
  add('reverted', reverted);
  add('undelivered', undelivered);
  return outcomes;
}
