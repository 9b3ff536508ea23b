import type { AnnotationKeys } from '../../api/annotations.ts';
import type { Workload } from '../workload/workload.ts';
import { pauseStep } from './pause.ts';
import { dueAt, type Timing, timingOf } from './timing.ts';

/** Something waits, and is not to be written yet. */
export interface NotNow {
  readonly do: 'wait';
  readonly because: 'quiet-period';
  /** When to ask again, by the clock of the process. */
  readonly until: number;
}

/** It may be written now; paused, where its pause period begins with this write. */
export interface Go {
  readonly do: 'go';
  readonly isPaused: boolean;
}

export interface GateFacts {
  readonly workload: Workload;
  /** When the changes came that wait, by the clock of the process. */
  readonly firstChangeAt: number;
  readonly lastChangeAt: number;
}

export interface GateRules {
  readonly timing: Timing;
  readonly keys: Pick<AnnotationKeys, 'pausedAt'>;
}

/** When a workload is to be written, by the quiet period that it or the flags ask for. */
export const dueTime = ({ workload, firstChangeAt, lastChangeAt }: GateFacts, timing: Timing): number =>
  dueAt(firstChangeAt, lastChangeAt, timingOf(workload.intent, timing));

/** The one place between the queue and the write that may say "not now". `serverNow` in milliseconds since the epoch. */
export function gate(facts: GateFacts, { timing, keys }: GateRules, now: number, serverNow: number): NotNow | Go {
  const until = dueTime(facts, timing);
  if (now < until) return { do: 'wait', because: 'quiet-period', until };
  return { do: 'go', isPaused: beginsPause(facts.workload, keys, serverNow) };
}

function beginsPause({ ref, paused, annotations, intent }: Workload, keys: GateRules['keys'], now: number): boolean {
  if (ref.kind !== 'Deployment') return false;
  const periodMs = intent.overrides.pausePeriodMs;
  return pauseStep({ paused, pausedAt: annotations[keys.pausedAt], periodMs }, now).do === 'pause';
}
