import type { Problem } from '../../domain/asks/ask.ts';
import type { Outcome, OutcomeOf } from '../../domain/outcome/outcome.ts';
import type { Workload } from '../../domain/workload/workload.ts';

/** How outcomes are shown in one place, by what they are. What has no entry is not shown there. */
export type Rendering = { readonly [Is in Outcome['is']]?: (outcome: OutcomeOf<Is>) => void };

/** What every replica notices by itself: only the one that leads tells of it. */
const NOTICED_BY_ALL: readonly Outcome['is'][] = ['settled-by-another-writer', 'reverted', 'undelivered', 'invalid'];

/** An annotation that is edited again and again can have as many problems. Then they are told anew. */
const MOST_REMEMBERED = 100;

/** The one way of an outcome to all places where it is shown. */
export class OutcomeFeed {
  readonly #mayTell: () => boolean;
  readonly #renderers: ((outcome: Outcome) => void)[];
  /** By the uid of the workload: the same problems are found each time its annotations are looked at. */
  readonly #reportedProblems = new Map<string, Set<string>>();

  /** The renderers are called in their order. */
  constructor(mayTell: () => boolean, renderers: readonly ((outcome: Outcome) => void)[]) {
    this.#mayTell = mayTell;
    this.#renderers = [...renderers];
  }

  /** One more, after the others. */
  add(renderer: (outcome: Outcome) => void): void {
    this.#renderers.push(renderer);
  }

  tell(outcome: Outcome): void {
    if (NOTICED_BY_ALL.includes(outcome.is) && !this.#mayTell()) return;
    const news = outcome.is === 'invalid' ? { ...outcome, problems: this.#newProblems(outcome) } : outcome;
    if (news.is === 'invalid' && news.problems.length === 0) return;
    for (const render of this.#renderers) render(news);
  }

  /** The workload is gone. */
  forget({ uid }: Workload): void {
    this.#reportedProblems.delete(uid);
  }

  #newProblems({ workload: { uid }, problems }: OutcomeOf<'invalid'>): readonly Problem[] {
    const known = this.#reportedProblems.get(uid);
    const reported = known && known.size < MOST_REMEMBERED ? known : new Set<string>();
    this.#reportedProblems.set(uid, reported);
    return problems.filter(({ path, message }) => {
      const problem = `${path}: ${message}`;
      return !reported.has(problem) && reported.add(problem);
    });
  }
}

/** The compiler does not see that the entry for what an outcome is takes exactly this outcome. */
export const rendererOf = (rendering: Rendering) => (outcome: Outcome) =>
  (rendering[outcome.is] as ((outcome: Outcome) => void) | undefined)?.(outcome);

/** Upstream tells of each source of a rollout by itself, and has no words for a Job. */
export function sourceBySource(rendering: Rendering): Rendering {
  const each = ({ changes, ...rest }: OutcomeOf<'rolled' | 'replaced'>): void => {
    for (const change of changes) rendering.rolled?.({ ...rest, is: 'rolled', changes: [change], job: undefined });
  };
  return { ...rendering, rolled: each, replaced: each };
}
