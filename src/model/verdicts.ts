import { type SourceKey, type SourceRef, sourceKey } from '../api/sources.ts';
import { interests, judge } from '../domain/judge/judge.ts';
import type { Policy, Verdict } from '../domain/judge/verdict.ts';
import { type Workload, type WorkloadKey, workloadKey } from '../domain/workload/workload.ts';
import type { Known } from './concerns.ts';
import type { Interest } from './reverse-index.ts';

type Deps = Pick<Known, 'index' | 'sources'> & {
  readonly policy: Policy;
  readonly workload: (key: WorkloadKey) => Workload | undefined;
};

/**
 * Who asks for a pod template: the workload it belongs to, and a Rollout that has borrowed it by `workloadRef`. The write
 * goes to the template's owner, so that two who ask for the same change are one rollout.
 */
export class Verdicts {
  readonly #deps: Deps;
  readonly #borrowers = new Map<WorkloadKey, Map<WorkloadKey, Workload>>();

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** A new or changed workload takes its place in the index. Gives back whose template it borrows, if it does. */
  enter(workload: Workload): WorkloadKey | undefined {
    const owner = this.#borrow(workload);
    this.#deps.index.set(workloadKey(workload.ref), this.#interest(workload));
    return owner;
  }

  leave({ ref }: Workload): void {
    const key = workloadKey(ref);
    this.#deps.index.remove(key);
    this.#giveBack(key);
  }

  of(workload: Workload, ref: SourceRef): Verdict {
    const { policy, sources } = this.#deps;
    const source = { ref, ...sources.flags(ref) };
    const own = judge(workload, source, policy);
    if (own.reload) return own;
    for (const borrower of this.#borrowersOf(workload)) {
      const verdict = judge(withTemplateOf(borrower, workload), source, policy);
      if (verdict.reload) return verdict;
    }
    return own;
  }

  #borrow(workload: Workload): WorkloadKey | undefined {
    if (workload.ref.kind !== 'Rollout' || this.#deps.policy.compat) return undefined;
    const key = workloadKey(workload.ref);
    const target = workload.workloadRef;
    this.#giveBack(key);
    if (target?.kind !== 'Deployment') return undefined;
    const owner = workloadKey({ kind: 'Deployment', namespace: workload.ref.namespace, name: target.name });
    const borrowers = this.#borrowers.get(owner) ?? new Map<WorkloadKey, Workload>();
    this.#borrowers.set(owner, borrowers.set(key, workload));
    this.#reenter(owner);
    return owner;
  }

  #giveBack(key: WorkloadKey): void {
    for (const [owner, borrowers] of this.#borrowers) if (borrowers.delete(key)) this.#reenter(owner);
  }

  #reenter(owner: WorkloadKey): void {
    const workload = this.#deps.workload(owner);
    if (workload) this.#deps.index.set(owner, this.#interest(workload));
  }

  #borrowersOf({ ref }: Workload): Iterable<Workload> {
    return this.#borrowers.get(workloadKey(ref))?.values() ?? [];
  }

  #interest(workload: Workload): Interest {
    const { policy } = this.#deps;
    const { namespace } = workload.ref;
    const asking = [workload, ...this.#borrowersOf(workload)].map((each) =>
      interests(withTemplateOf(each, workload), policy),
    );
    // References count even where nobody asked: the log can then say why nothing happened.
    const named = [...workload.references, ...asking.flatMap((each) => each.literal)];
    const literal = new Map<SourceKey, SourceRef>();
    for (const { kind, name } of named) literal.set(sourceKey({ kind, namespace, name }), { kind, namespace, name });
    return {
      literal: [...literal.values()],
      patterns: asking.flatMap(({ patterns }) => patterns.map((each) => ({ ...each, namespace }))),
    };
  }
}

/** The borrower as the rules see it: it asks, for what the other one's containers use. */
export function withTemplateOf(borrower: Workload, owner: Workload): Workload {
  if (borrower === owner) return owner;
  return { ...borrower, references: owner.references, containers: owner.containers };
}
