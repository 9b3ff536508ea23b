import type { Workload } from '../../../domain/workload/workload.ts';
import type { Clock } from '../../../runtime/clock.ts';
import type { Metrics } from '../../../telemetry/metrics.ts';
import type { Renderer } from '../outcome-feed.ts';

export interface MetricDeps {
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly byNamespace: boolean;
}

/** Outcomes as counts and durations. */
export function metricRendering(deps: MetricDeps): Renderer {
  const { metrics, clock } = deps;
  return (outcome) => {
    const { kind } = outcome.workload.ref;
    switch (outcome.is) {
      case 'rolled':
      case 'replaced':
        countAction(deps, outcome.workload, true);
        metrics.increment('reloader_workloads_matched_total', { kind });
        metrics.increment('attune_settled_total', { how: 'rolled' }, outcome.changes.length);
        timeAttempt(deps, 'success', outcome.startedAt);
        metrics.observe(
          'reloader_action_latency_seconds',
          { workload_kind: kind },
          secondsSince(clock, outcome.lastChangeAt),
        );
        break;
      case 'skipped':
        metrics.increment('reloader_skipped_total', { reason: 'strategy_not_updated' }, outcome.changes.length);
        timeAttempt(deps, 'skipped', outcome.startedAt);
        break;
      case 'failed':
      case 'refused':
        countAction(deps, outcome.workload, false);
        metrics.increment('reloader_errors_total', { type: 'handler_error' });
        metrics.increment('reloader_retries_total');
        timeAttempt(deps, 'error', outcome.startedAt);
        break;
      case 'settled-by-another-writer':
        metrics.increment('attune_settled_total', { how: 'already-rolled' }, outcome.sources.length);
        break;
      case 'reverted':
      case 'undelivered':
        metrics.increment('attune_reverted_total', {}, outcome.sources.length);
        break;
      case 'paused':
      case 'resumed':
      case 'not-resumed':
      case 'invalid':
        break;
      default:
        outcome satisfies never;
    }
  };
}

function countAction({ metrics, byNamespace }: MetricDeps, { ref }: Workload, isSuccess: boolean): void {
  const success = String(isSuccess);
  const { namespace } = ref;
  metrics.increment('reloader_reload_executed_total', { success });
  if (byNamespace) metrics.increment('reloader_reload_executed_total_by_namespace', { success, namespace });
  metrics.increment('reloader_action_total', { workload_kind: ref.kind, result: isSuccess ? 'success' : 'error' });
}

function timeAttempt({ metrics, clock }: MetricDeps, result: 'success' | 'error' | 'skipped', startedAt: number): void {
  metrics.increment('reloader_reconcile_total', { result });
  metrics.observe('reloader_reconcile_duration_seconds', { result }, secondsSince(clock, startedAt));
}

export const secondsSince = (clock: Clock, moment: number): number => Math.max(0, clock.now() - moment) / 1000;
