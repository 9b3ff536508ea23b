import type { OutcomeOf } from '../../../domain/outcome/outcome.ts';
import type { Clock } from '../../../runtime/clock.ts';
import type { ControllerMetrics } from '../../../telemetry/metric-tables/controller.ts';
import type { Rendering } from '../outcome-feed.ts';

type Attempt = OutcomeOf<'rolled' | 'replaced' | 'skipped' | 'failed' | 'refused'>;

/** Outcomes as counts and durations. */
export function metricRendering(metrics: ControllerMetrics, clock: Clock): Rendering {
  const counted = ({ workload: { ref } }: Attempt, isSuccess: boolean): void => {
    const success = String(isSuccess);
    metrics.increment('reloader_reload_executed_total', { success });
    metrics.increment('reloader_reload_executed_total_by_namespace', { success, namespace: ref.namespace });
    metrics.increment('reloader_action_total', { workload_kind: ref.kind, result: isSuccess ? 'success' : 'error' });
  };
  const timed = ({ startedAt }: Attempt, result: 'success' | 'error' | 'skipped'): void => {
    metrics.increment('reloader_reconcile_total', { result });
    metrics.observe('reloader_reconcile_duration_seconds', { result }, secondsSince(clock, startedAt));
  };
  const rolled = (outcome: OutcomeOf<'rolled' | 'replaced'>): void => {
    const { kind } = outcome.workload.ref;
    const seconds = secondsSince(clock, outcome.lastChangeAt);
    counted(outcome, true);
    metrics.increment('reloader_workloads_matched_total', { kind });
    metrics.increment('attune_settled_total', { how: 'rolled' }, outcome.changes.length);
    timed(outcome, 'success');
    metrics.observe('reloader_action_latency_seconds', { workload_kind: kind }, seconds);
  };
  const failed = (outcome: OutcomeOf<'failed' | 'refused'>): void => {
    counted(outcome, false);
    metrics.increment('reloader_errors_total', { type: 'handler_error' });
    metrics.increment('reloader_retries_total');
    timed(outcome, 'error');
  };
  const reverted = ({ sources }: OutcomeOf<'reverted' | 'undelivered'>): void =>
    metrics.increment('attune_reverted_total', {}, sources.length);
  return {
    rolled,
    replaced: rolled,
    failed,
    refused: failed,
    reverted,
    undelivered: reverted,
    skipped(outcome) {
      const reason = outcome.why === 'deleted' ? 'workload_deleted' : 'strategy_not_updated';
      metrics.increment('reloader_skipped_total', { reason }, outcome.changes.length);
      timed(outcome, 'skipped');
    },
    'settled-by-another-writer': ({ sources }) =>
      metrics.increment('attune_settled_total', { how: 'already-rolled' }, sources.length),
  };
}

export const secondsSince = (clock: Clock, moment: number): number => Math.max(0, clock.now() - moment) / 1000;
