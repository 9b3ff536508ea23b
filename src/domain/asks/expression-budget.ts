import { type Intent, originText, type Problem } from './ask.ts';
import { MOST_PER_NAMESPACE } from './expression.ts';
import { Faults } from './faults.ts';
import { NAMESPACE_FULL, type NamePattern } from './name-pattern.ts';

interface Share {
  readonly size: number;
  readonly holders: Set<string>;
}

/** What the expressions of one namespace take. */
interface Namespace {
  size: number;
  readonly shares: Map<string, Share>;
}

/**
 * How much the expressions of a namespace take together, by the workloads and ReloaderConfigs in it. An expression that
 * several of them have counts once. The first ones keep their share until they change or go. An expression for which there
 * was no room is tried again when its workload or config is edited.
 */
export class ExpressionBudget {
  readonly #namespaces = new Map<string, Namespace>();
  /** The expressions of each holder. */
  readonly #held = new Map<string, readonly string[]>();

  /** Takes the share of a workload or config, in place of the one it had. Gives back the expressions without room. */
  hold(namespace: string, holder: string, patterns: readonly NamePattern[]): ReadonlySet<string> {
    this.release(namespace, holder);
    const refused = new Set<string>();
    const expressions = patterns.filter(({ expression }) => expression !== undefined);
    if (expressions.length === 0) return refused;
    const budget = this.#namespaces.get(namespace) ?? { size: 0, shares: new Map<string, Share>() };
    const held: string[] = [];
    for (const { expression = '', size } of expressions) {
      const share = budget.shares.get(expression) ?? { size, holders: new Set<string>() };
      const isNew = share.holders.size === 0;
      if (isNew && budget.size + size > MOST_PER_NAMESPACE) {
        refused.add(expression);
        continue;
      }
      if (isNew) budget.size += size;
      budget.shares.set(expression, share);
      share.holders.add(holder);
      held.push(expression);
    }
    if (budget.size > 0) this.#namespaces.set(namespace, budget);
    if (held.length > 0) this.#held.set(holder, held);
    return refused;
  }

  release(namespace: string, holder: string): void {
    const budget = this.#namespaces.get(namespace);
    for (const expression of this.#held.get(holder) ?? []) {
      const share = budget?.shares.get(expression);
      share?.holders.delete(holder);
      if (!budget || share?.holders.size !== 0) continue;
      budget.shares.delete(expression);
      budget.size -= share.size;
    }
    this.#held.delete(holder);
    if (budget?.shares.size === 0) this.#namespaces.delete(namespace);
  }

  /** How much of its budget a namespace has taken. */
  sizeOf(namespace: string): number {
    return this.#namespaces.get(namespace)?.size ?? 0;
  }
}

/** What is asked for, without expressions that found no room. */
export function withoutExpressions(intent: Intent, refused: ReadonlySet<string>): Intent {
  const problems: Problem[] = [];
  const asks = intent.asks.map((ask) => {
    const { wants, origin } = ask;
    if (wants.what !== 'named' || origin.by === 'config') return ask;
    const faults = new Faults(origin.by === 'annotation' ? origin.key : originText(origin));
    const patterns = wants.patterns.filter(
      (pattern) => !isRefused(pattern, refused, (text, fault) => faults.add(text, fault)),
    );
    problems.push(...faults.problems());
    return faults.count === 0 ? ask : { ...ask, wants: { ...wants, patterns } };
  });
  return { ...intent, asks, problems: [...intent.problems, ...problems] };
}

/** Whether an expression found no room, and then what to tell about it. */
export function isRefused(
  { text, expression }: NamePattern,
  refused: ReadonlySet<string>,
  tell: (text: string, fault: string) => void,
): boolean {
  if (expression === undefined || !refused.has(expression)) return false;
  tell(text, NAMESPACE_FULL);
  return true;
}
