import { type AnnotationKeys, ON_CHANGE } from '../../api/annotations.ts';
import type { Effect, WorkloadKind } from '../../api/kinds.ts';
import { askingKeys } from '../asks/slips.ts';
import type { Workload } from '../workload/workload.ts';
import type { Policy, Verdict } from './verdict.ts';

/** `restart`: by the object's own restart field, template untouched. `none`: nothing is to be done, now or later. */
export type Action = Effect | 'restart' | 'none';

/** How a change that rolls this workload is carried out. */
export function actionFor(
  kind: WorkloadKind,
  workload: Workload,
  verdicts: readonly Verdict[],
  policy: Policy,
): Action {
  if (kind.kind === 'Rollout' && workload.intent.rolloutStrategy === 'restart') return 'restart';
  if (policy.compat || kind.effect === 'patch') return kind.effect;
  const { onChange } = workload.intent;
  if (kind.effect === 'run') {
    if (onChange === 'template') return 'patch';
    return workload.suspended && onChange !== 'run' ? 'none' : 'run';
  }
  // The next run of a CronJob has the new data anyway; a run that it has started goes on with the data it began with.
  const isLeft = workload.finished || workload.owner?.kind === 'CronJob';
  return isLeft && !asksItself(workload, verdicts, policy.keys) ? 'none' : 'replace';
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
