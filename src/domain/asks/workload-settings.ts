import { type AnnotationKeys, MAX_WAIT, ON_CHANGE, QUIET_PERIOD, ROLLOUT_STRATEGY } from '../../api/annotations.ts';
import type { KindName } from '../../api/kinds.ts';
import { parseDuration } from '../text/duration.ts';
import { type Intent, NO_OVERRIDES, type Overrides, type Problem, quote } from './ask.ts';
import type { Annotations } from './workload-annotations.ts';

/** A workload and its own annotations: settings are never read from the pod template. */
interface Own {
  readonly kind: KindName;
  readonly annotations: Annotations;
  readonly problems: Problem[];
}

/** How a workload wants to be reloaded, by its own annotations. */
export function parseSettings(
  own: Own,
  keys: AnnotationKeys,
): Pick<Intent, 'overrides' | 'rolloutStrategy' | 'onChange'> {
  return {
    overrides: readOverrides(own, keys.pausePeriod),
    rolloutStrategy: readRolloutStrategy(own),
    onChange: readOnChange(own),
  };
}

function readOverrides(own: Own, pauseKey: string): Overrides {
  const quietPeriodMs = readPeriod(own, QUIET_PERIOD);
  const maxWaitMs = readPeriod(own, MAX_WAIT);
  const pausePeriodMs = readPausePeriod(own, pauseKey);
  const isNone = quietPeriodMs === undefined && maxWaitMs === undefined && pausePeriodMs === undefined;
  return isNone ? NO_OVERRIDES : { quietPeriodMs, maxWaitMs, pausePeriodMs };
}

function readPeriod({ annotations, problems }: Own, key: string): number | undefined {
  const text = annotations[key];
  if (text === undefined) return undefined;
  const period = parseDuration(text);
  if (period !== undefined && period >= 0) return period;
  problems.push({ path: key, message: `must be a duration like 90s or 1h30m, not ${quote(text)}` });
  return undefined;
}

function readPausePeriod({ kind, annotations, problems }: Own, key: string): number | undefined {
  const text = annotations[key];
  if (text === undefined) return undefined;
  if (kind !== 'Deployment') {
    problems.push({ path: key, message: `has no effect on a ${kind}: only a Deployment can be paused` });
    return undefined;
  }
  const period = parseDuration(text);
  if (period === undefined) {
    // Whoever asked for a pause must not get a rollout without one.
    problems.push({ path: key, message: `must be a duration like 5m or 1h30m, not ${quote(text)}`, blocks: true });
  }
  return period;
}

function readRolloutStrategy({ kind, annotations, problems }: Own): 'rollout' | 'restart' {
  const text = annotations[ROLLOUT_STRATEGY];
  if (kind !== 'Rollout' || text === undefined || text === 'rollout') return 'rollout';
  if (text === 'restart') return 'restart';
  problems.push({ path: ROLLOUT_STRATEGY, message: `must be "rollout" or "restart", not ${quote(text)}` });
  return 'rollout';
}

function readOnChange({ kind, annotations, problems }: Own): Intent['onChange'] {
  const text = annotations[ON_CHANGE];
  if (text === undefined) return undefined;
  if (kind !== 'CronJob' && kind !== 'Job') {
    problems.push({ path: ON_CHANGE, message: `has no effect on a ${kind}: only on CronJob and Job` });
    return undefined;
  }
  if (text === 'run' || text === 'ignore') return text;
  if (text === 'template' && kind === 'CronJob') return text;
  const expected = kind === 'CronJob' ? '"run", "template" or "ignore"' : '"run" or "ignore" on a Job';
  problems.push({ path: ON_CHANGE, message: `must be ${expected}, not ${quote(text)}` });
  return undefined;
}
