import { type AnnotationKeys, MAX_WAIT, ON_CHANGE, QUIET_PERIOD, ROLLOUT_STRATEGY } from '../../api/annotations.ts';
import type { KindName } from '../../api/kinds.ts';
import { parseDuration } from '../text/duration.ts';
import { quote } from '../text/quote.ts';
import { type Intent, NO_OVERRIDES, type Problem, type Refusal } from './ask.ts';
import type { Annotations, Found } from './workload-annotations.ts';

type Settings = Pick<Intent, 'overrides' | 'rolloutStrategy' | 'onChange'>;

const LEAVE_ALONE: Refusal = {
  because: 'on-change-ignore',
  origin: { by: 'annotation', place: 'metadata', key: ON_CHANGE, value: 'ignore' },
};

/** How a workload wants to be reloaded, by annotations of its own: they are never read from the pod template. */
export function parseSettings(kind: KindName, own: Annotations, keys: AnnotationKeys, found: Found): Settings {
  const { problems } = found;
  const quietPeriodMs = readPeriod(own, QUIET_PERIOD, problems);
  const maxWaitMs = readPeriod(own, MAX_WAIT, problems);
  const pausePeriodMs = readPausePeriod(kind, own, keys.pausePeriod, problems);
  const isPlain = quietPeriodMs === undefined && maxWaitMs === undefined && pausePeriodMs === undefined;
  const rolloutStrategy = kind === 'Rollout' ? readRolloutStrategy(own, problems) : 'rollout';
  const onChange = readOnChange(kind, own, problems);
  if (onChange === 'ignore') found.refusals.push(LEAVE_ALONE);
  return {
    overrides: isPlain ? NO_OVERRIDES : { quietPeriodMs, maxWaitMs, pausePeriodMs },
    rolloutStrategy,
    onChange,
  };
}

function readPeriod(own: Annotations, key: string, problems: Problem[]): number | undefined {
  const text = own[key];
  const period = text === undefined ? undefined : parseDuration(text);
  if (text === undefined || (period !== undefined && period >= 0)) return period;
  problems.push({ path: key, message: `must be a duration like 90s or 1h30m, not ${quote(text)}` });
  return undefined;
}

function readPausePeriod(kind: KindName, own: Annotations, key: string, problems: Problem[]): number | undefined {
  const text = own[key];
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

function readRolloutStrategy(own: Annotations, problems: Problem[]): 'rollout' | 'restart' {
  const { [ROLLOUT_STRATEGY]: text = 'rollout' } = own;
  if (text === 'rollout' || text === 'restart') return text;
  problems.push({ path: ROLLOUT_STRATEGY, message: `must be "rollout" or "restart", not ${quote(text)}` });
  return 'rollout';
}

function readOnChange(kind: KindName, own: Annotations, problems: Problem[]): Intent['onChange'] {
  const text = own[ON_CHANGE];
  if (text === undefined) return undefined;
  if (kind !== 'CronJob' && kind !== 'Job') {
    problems.push({ path: ON_CHANGE, message: `has no effect on a ${kind}: only on CronJob and Job` });
    return undefined;
  }
  if (text === 'run' || text === 'ignore' || (text === 'template' && kind === 'CronJob')) return text;
  const expected = kind === 'CronJob' ? '"run", "template" or "ignore"' : '"run" or "ignore" on a Job';
  // What was meant to say `ignore` must not start a Job.
  problems.push({ path: ON_CHANGE, message: `must be ${expected}, not ${quote(text)}`, blocks: true });
  return undefined;
}
