import type { Problem } from '../../domain/asks/intent.ts';
import type { Invalid, Outcome } from '../../domain/outcome/outcome.ts';
import type { Workload } from '../../domain/workload/workload.ts';

/** Shows outcomes in one place: the log, the metrics, Events, alerts. */
export type Renderer = (outcome: Outcome) => void;

/** What every replica notices by itself: only the one that leads tells of it. */
const NOTICED_BY_ALL: ReadonlySet<Outcome['is']> = new Set([
  'settled-by-another-writer',
  'reverted',
  'undelivered',
  'invalid',
]);

export interface OutcomeFeedDeps {
  readonly mayTell: () => boolean;
  /** Called in this order. */
  readonly renderers: readonly Renderer[];
}

/** The one way of an outcome to all places where it is shown. */
export class OutcomeFeed {
  readonly #deps: OutcomeFeedDeps;
  /** By the uid of the workload: the same problem is found each time its annotations are looked at. */
  readonly #reportedProblems = new Map<string, Set<string>>();

  constructor(deps: OutcomeFeedDeps) {
    this.#deps = deps;
  }

  tell(outcome: Outcome): void {
    if (NOTICED_BY_ALL.has(outcome.is) && !this.#deps.mayTell()) return;
    const news = outcome.is === 'invalid' ? { ...outcome, problems: this.#newProblems(outcome) } : outcome;
    if (news.is === 'invalid' && news.problems.length === 0) return;
    for (const render of this.#deps.renderers) render(news);
  }

  /** The workload is gone. */
  forget({ uid }: Workload): void {
    this.#reportedProblems.delete(uid);
  }

  #newProblems({ workload: { uid }, problems }: Invalid): readonly Problem[] {
    const reported = this.#reportedProblems.get(uid) ?? new Set();
    this.#reportedProblems.set(uid, reported);
    return problems.filter(({ path, message }) => {
      const problem = `${path}: ${message}`;
      return !reported.has(problem) && reported.add(problem);
    });
  }
}

/** Upstream tells of each source of a rollout by itself, and has no words for a Job. */
export const sourceBySource =
  (render: Renderer): Renderer =>
  (outcome) => {
    if (outcome.is !== 'rolled' && outcome.is !== 'replaced') render(outcome);
    else for (const change of outcome.changes) render({ ...outcome, is: 'rolled', changes: [change], job: undefined });
  };
