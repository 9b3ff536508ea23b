import type { Workload } from '../../domain/workload/workload.ts';

/** Whether a Rollout has no template of its own and uses that of this Deployment. */
export const borrows = ({ ref, workloadRef }: Workload, owner: Workload['ref']): boolean =>
  ref.kind === 'Rollout' &&
  owner.kind === 'Deployment' &&
  workloadRef?.kind === 'Deployment' &&
  workloadRef.name === owner.name &&
  ref.namespace === owner.namespace;

/** A rule speaks of the metadata of whoever asked: where that is the borrower, it has to be said. */
export const ruleOf = (asking: Workload, owner: Workload, rule: string): string =>
  asking.ref.kind === owner.ref.kind ? rule : `Rollout ${asking.ref.name}, which borrows this template, asks: ${rule}`;
