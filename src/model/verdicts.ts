import type { SourceRef } from '../api/sources.ts';
import { interests, judge } from '../domain/judge/judge.ts';
import type { Policy, Verdict } from '../domain/judge/verdict.ts';
import { type Workload, type WorkloadKey, workloadKey } from '../domain/workload/workload.ts';
import type { Known } from './concerns.ts';
import type { Interest } from './reverse-index.ts';
import type { WorkloadState } from './workload-state.ts';

type Deps = Known & { readonly policy: Policy };

/**
 * Who speaks for a pod template: the workload it belongs to, and a Rollout that has borrowed it by `workloadRef`. The
 * write goes to the template's owner, so that two who ask for the same change are one rollout.
 */
export class Verdicts {
  readonly #deps: Deps;
  readonly #states: ReadonlyMap<WorkloadKey, WorkloadState>;
  readonly #borrowers = new Map<WorkloadKey, Map<WorkloadKey, Workload>>();

  constructor(deps: Deps, states: ReadonlyMap<WorkloadKey, WorkloadState>) {
    this.#deps = deps;
    this.#states = states;
  }

  /** A new or changed workload takes its place in the graph. Gives back whose template it borrows, if it does. */
  enter(state: WorkloadState): WorkloadState | undefined {
    const key = workloadKey(state.workload.ref);
    const owner = this.#lend(state.workload);
    this.#deps.graph.set(key, state.workload.ref.namespace, this.#interest(state.workload));
    return owner === undefined ? undefined : this.#states.get(owner);
  }

  leave(state: WorkloadState): void {
    const key = workloadKey(state.workload.ref);
    this.#deps.graph.remove(key);
    for (const [owner, borrowers] of this.#borrowers) {
      if (borrowers.delete(key)) this.#reenter(owner);
    }
  }

  of(state: WorkloadState, ref: SourceRef): Verdict {
    const { policy, sources } = this.#deps;
    const source = { ref, ...sources.flags(ref) };
    const own = judge(state.workload, source, policy);
    if (own.reload) return own;
    for (const borrower of this.#borrowers.get(workloadKey(state.workload.ref))?.values() ?? []) {
      const verdict = judge(withTemplateOf(borrower, state.workload), source, policy);
      if (verdict.reload) return verdict;
    }
    return own;
  }

  #lend(workload: Workload): WorkloadKey | undefined {
    if (workload.ref.kind !== 'Rollout' || this.#deps.policy.compat) return undefined;
    const key = workloadKey(workload.ref);
    const target = workload.workloadRef;
    for (const [owner, borrowers] of this.#borrowers) {
      if (borrowers.delete(key)) this.#reenter(owner);
    }
    if (target?.kind !== 'Deployment') return undefined;
    const owner = workloadKey({ kind: 'Deployment', namespace: workload.ref.namespace, name: target.name });
    const borrowers = this.#borrowers.get(owner) ?? new Map<WorkloadKey, Workload>();
    borrowers.set(key, workload);
    this.#borrowers.set(owner, borrowers);
    this.#reenter(owner);
    return owner;
  }

  #reenter(owner: WorkloadKey): void {
    const state = this.#states.get(owner);
    if (state) this.#deps.graph.set(owner, state.workload.ref.namespace, this.#interest(state.workload));
  }

  #interest(workload: Workload): Interest {
    const { policy } = this.#deps;
    const voices = [workload, ...(this.#borrowers.get(workloadKey(workload.ref))?.values() ?? [])];
    const asked = voices.map((voice) => interests(withTemplateOf(voice, workload), policy));
    return {
      // References count even where nobody asked: the log can then say why nothing happened.
      literal: dedupe([...workload.references, ...asked.flatMap(({ literal }) => literal)]),
      patterns: asked.flatMap(({ patterns }) => patterns),
    };
  }
}

function withTemplateOf(voice: Workload, owner: Workload): Workload {
  if (voice === owner) return owner;
  return { ...voice, references: owner.references, containers: owner.containers };
}

function dedupe(refs: readonly { readonly kind: SourceRef['kind']; readonly name: string }[]): Interest['literal'] {
  const seen = new Map<string, { readonly kind: SourceRef['kind']; readonly name: string }>();
  for (const { kind, name } of refs) seen.set(`${kind}/${name}`, { kind, name });
  return [...seen.values()];
}
