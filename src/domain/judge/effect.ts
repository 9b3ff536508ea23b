import { type AnnotationKeys, ON_CHANGE } from '../../api/annotations.ts';
import type { Effect, WorkloadKind } from '../../api/kinds.ts';
import { askingKeys } from '../asks/slips.ts';
import type { Workload } from '../workload/workload.ts';
import type { Policy, Verdict } from './verdict.ts';

/**
 * Template untouched: `restart` by the object's own restart field, `evict` by evicting its pods. `none`: nothing is to be
 * done, now or later.
 */
export type Action = Effect | 'restart' | 'evict' | 'none';

/** How a change that rolls this workload is carried out. */
export function actionFor(
  kind: WorkloadKind,
  workload: Workload,
  verdicts: readonly Verdict[],
  policy: Policy,
): Action {
  if (kind.effect === 'patch') return patchAction(kind, workload, verdicts);
  if (policy.compat) return kind.effect;
  const { onChange } = workload.intent;
  if (kind.effect === 'run') {
    if (onChange === 'template') return 'patch';
    return workload.suspended && onChange !== 'run' ? 'none' : 'run';
  }
  // The next run of a CronJob has the new data anyway; a run that it has started goes on with the data it began with.
  const isLeft = workload.finished || workload.owner?.kind === 'CronJob';
  return isLeft && !asksItself(workload, verdicts, policy.keys) ? 'none' : 'replace';
}

/** Pods are replaced without a new template only if nobody wants a new one: one patch serves all. */
function patchAction({ kind, effect }: WorkloadKind, { intent }: Workload, verdicts: readonly Verdict[]): Action {
  const usual = kind === 'Rollout' ? intent.rolloutStrategy : 'rollout';
  const isRestart = verdicts.every((verdict) => {
    const asked = verdict.reload ? verdict.ask.overrides.rolloutStrategy : undefined;
    return (asked ?? usual) === 'restart';
  });
  if (!isRestart) return effect;
  return kind === 'Rollout' ? 'restart' : 'evict';
}

/**
 * To run a Job again that has finished or belongs to a CronJob, its own metadata must ask: what the pod template asks is
 * copied to every Job of a CronJob.
 */
function asksItself(workload: Workload, verdicts: readonly Verdict[], keys: AnnotationKeys): boolean {
  if (workload.intent.onChange === 'run') return true;
  const isAsking = askingKeys(keys).some((key) => Object.hasOwn(workload.annotations, key));
  return isAsking && verdicts.some((verdict) => verdict.reload && verdict.ask.origin.by === 'annotation');
}

/** Why `none`, and what would change that. */
export function inactionOf({ suspended, finished, owner, ref }: Workload): Readonly<Record<'rule' | 'cure', string>> {
  const cure = `set ${ON_CHANGE}: "run" in metadata of ${ref.kind} ${ref.name}`;
  if (suspended) return { rule: 'it is suspended', cure };
  if (finished) return { rule: 'it has finished, and its own metadata does not ask to run it again', cure };
  return { rule: `it is a run of ${owner?.kind} ${owner?.name}, and goes on with what it began with`, cure };
}
