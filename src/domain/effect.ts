import type { Effect, WorkloadKind } from '../api/kinds.ts';
import type { Policy, Verdict } from './verdict.ts';
import type { Workload } from './workload.ts';

/** `restart`: the object's own way to restart, template untouched. `none`: nothing is to happen, and that settles it. */
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
  return workload.finished && !asksItself(workload, verdicts) ? 'none' : 'replace';
}

/** To run a finished Job again, its own metadata must say so: a template is copied to every Job of a CronJob. */
function asksItself(workload: Workload, verdicts: readonly Verdict[]): boolean {
  if (workload.intent.onChange === 'run') return true;
  const fromTemplate = Object.values(workload.intent.of).every((intent) => intent.from === 'template');
  return !fromTemplate && verdicts.some((verdict) => verdict.reload && verdict.because !== 'auto-reload-all');
}
