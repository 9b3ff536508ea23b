import type { AnnotationKeys } from '../../api/annotations.ts';
import { brings } from '../ledger/restart.ts';
import type { Change } from '../outcome/change.ts';
import type { OwnReloads } from '../state/own-reloads.ts';
import type { Workload } from '../workload/workload.ts';
import { cooldownEnd } from './cooldown.ts';
import { pauseStep } from './pause.ts';
import { dueAt, type Timing, timingOf } from './timing.ts';

/** Something waits, and is not to be written yet. */
export interface NotNow {
  readonly do: 'wait';
  readonly because: 'quiet-period' | 'cooldown';
  /** When to ask again, by the clock of the process. */
  readonly until: number;
}

/** These may be written now; paused, where its pause period begins with this write. */
export interface Go {
  readonly do: 'go';
  readonly changes: readonly Change[];
  readonly isPaused: boolean;
}

export interface GateFacts {
  readonly workload: Workload;
  readonly reloads: Pick<OwnReloads, 'at' | 'restart'>;
  /** When the changes came that wait, by the clock of the process. */
  readonly firstChangeAt: number;
  readonly lastChangeAt: number;
}

export interface GateRules {
  readonly timing: Timing;
  readonly keys: Pick<AnnotationKeys, 'pausedAt'>;
}

/** When a workload is to be written, by the quiet period that it or the flags ask for. */
export const dueTime = (
  { workload, firstChangeAt, lastChangeAt }: Omit<GateFacts, 'reloads'>,
  timing: Timing,
): number => dueAt(firstChangeAt, lastChangeAt, timingOf(workload.intent, timing));

/** The present, by the clock of the process and by the server's, in milliseconds since the epoch. */
export interface Moment {
  readonly now: number;
  readonly serverNow: number;
}

/** The one place between the queue and the write that may say "not now". */
export function gate(
  facts: GateFacts,
  changes: readonly Change[],
  { timing, keys }: GateRules,
  { now, serverNow }: Moment,
): NotNow | Go {
  const until = dueTime(facts, timing);
  if (now < until) return { do: 'wait', because: 'quiet-period', until };
  const ready = readyOf(facts.reloads, changes, serverNow);
  if (typeof ready === 'number') return { do: 'wait', because: 'cooldown', until: now + ready - serverNow };
  return { do: 'go', changes: ready, isPaused: beginsPause(facts.workload, keys, serverNow) };
}

/**
 * What need not wait for the end of a cooldown, or when the first of it ends. Where one may go all go, in one write. A restart
 * that has begun goes on, and then for nothing but what it has begun for.
 */
function readyOf(reloads: GateFacts['reloads'], changes: readonly Change[], serverNow: number) {
  const begun = changes.filter((change) => brings(reloads.restart, change));
  let first = Number.POSITIVE_INFINITY;
  for (const change of changes) {
    if (begun.includes(change)) continue;
    const end = cooldownEnd(reloads, change.verdict.ask.overrides.cooldownMs, serverNow) ?? 0;
    if (end <= serverNow) return changes;
    first = Math.min(first, end);
  }
  return begun.length > 0 ? begun : first;
}

function beginsPause({ ref, paused, annotations, intent }: Workload, keys: GateRules['keys'], now: number): boolean {
  if (ref.kind !== 'Deployment') return false;
  const periodMs = intent.overrides.pausePeriodMs;
  return pauseStep({ paused, pausedAt: annotations[keys.pausedAt], periodMs }, now).do === 'pause';
}
