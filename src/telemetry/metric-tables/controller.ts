import { counter, gauge, histogram } from '../metric.ts';
import { createMetrics, type Metrics } from '../metrics.ts';
import { ADMISSION_METRICS, type AdmissionMetrics } from './admission.ts';

/** The controller's metrics. The first part has Stakater's names, labels and buckets, so that dashboards keep working. */
export const CONTROLLER_METRICS = {
  reloader_reload_executed_total: counter(['success'], 'Workloads written to because of a change.', {
    initial: [{ success: 'true' }, { success: 'false' }],
  }),
  reloader_reload_executed_total_by_namespace: counter(
    ['success', 'namespace'],
    'Workloads written to because of a change, by namespace. Only with METRICS_COUNT_BY_NAMESPACE=enabled.',
  ),
  reloader_reconcile_total: counter(
    ['result'],
    'Reconciliations of a workload, by result: success, error or skipped.',
    { mended: 'Counted once; upstream counts each item twice, and a skipped one as success too.' },
  ),
  reloader_reconcile_duration_seconds: histogram(
    ['result'],
    [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    'How long the reconciliation of a workload took, by result.',
    'Observed once, upstream twice.',
  ),
  reloader_action_total: counter(
    ['workload_kind', 'result'],
    'Writes, by kind of workload and result: success or error.',
  ),
  reloader_action_latency_seconds: histogram(
    ['workload_kind'],
    [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
    'From the arrival of the change to the answer to the write.',
    'Measured from the event, so the quiet period is part of it; upstream starts when it reaches the workload.',
  ),
  reloader_skipped_total: counter(
    ['reason'],
    'Events that led to nothing, by reason: ignored_or_not_selected, no_data_change, strategy_not_updated, or ' +
      'workload_deleted where the owner of a Job deleted it before Attune could replace it.',
  ),
  reloader_workqueue_depth: gauge([], 'Workloads with a change that is not written yet.'),
  reloader_workqueue_adds_total: counter([], 'Workloads put into the queue.'),
  reloader_workqueue_latency_seconds: histogram(
    [],
    [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    'From being due to being taken up.',
  ),
  reloader_errors_total: counter(['type'], 'Errors, by type.'),
  reloader_retries_total: counter([], 'Reconciliations that are tried again after an error.'),
  reloader_events_received_total: counter(
    ['event_type', 'resource_type'],
    'Watch events (add, update, delete), by resource, before any filter.',
  ),
  reloader_events_processed_total: counter(
    ['event_type', 'resource_type', 'result'],
    'Watch events that were dealt with, by result: success or dropped.',
    { mended: 'event_type is add, update or delete; upstream always says unknown.' },
  ),
  reloader_workloads_scanned_total: counter(['kind'], 'Workloads looked at because of a change, by kind.', {
    mended: 'Only workloads that a change concerns are looked at; upstream lists the whole namespace for each one.',
  }),
  reloader_workloads_matched_total: counter(['kind'], 'Workloads written to with success, by kind.', {
    mended: 'Counted per workload; upstream drops the whole count of a kind when one of its writes fails.',
  }),
  rest_client_requests_total: counter(['code', 'method', 'host'], 'Requests to the API server, by HTTP status.'),
  rest_client_request_duration_seconds: histogram(
    ['verb', 'host'],
    [0.001, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30],
    'How long requests to the API server take.',
  ),

  attune_pending_workloads: gauge(
    [],
    'Workloads with a change that their pods do not have yet: it waits for the quiet period, for another try, for an ' +
      'annotation that can be read, or for the end of a pause that Attune began. 0 on a standby.',
  ),
  attune_undelivered_changes: gauge(
    [],
    'Changes that another writer reverted twice during their rollout: old pods may be left, and Attune does not apply them again. Not among the pending.',
  ),
  attune_reverted_total: counter(
    [],
    'Marks of a reload that another writer removed from a pod template that may keep older pods.',
  ),
  attune_settled_total: counter(
    ['how'],
    'Changes that reached their workload, by how: rolled by Attune, or already-rolled by another writer.',
  ),
  attune_ledger_writes_total: counter(
    ['result'],
    'Writes of the ledger to its ConfigMaps, by result: success or error.',
  ),
  attune_source_objects: gauge(['kind'], 'ConfigMaps, Secrets and SecretProviderClasses known, by kind.'),
  attune_reloader_configs: gauge(
    ['degraded'],
    'ReloaderConfigs followed, by whether their status says Degraded: something of them cannot be done.',
  ),
  attune_source_read_errors_total: counter(
    ['kind', 'reason'],
    'Refused or failed attempts to read a source that somebody uses, by kind and reason.',
  ),
  attune_unread_sources: gauge([], 'Sources that somebody uses and whose data could not be read yet.'),
  attune_event_posts_total: counter(['result'], 'Kubernetes Events posted, by result: success, error or dropped.'),
  attune_alerts_total: counter(['result'], 'Alerts, by result: success, error or dropped.'),
  attune_ready: gauge([], '1 while /readyz says so: there is work that this replica can do, or could as the leader.'),
  attune_leader: gauge([], '1 while this replica may write: it holds the Lease, or there is no election.'),
} as const;

export type ControllerMetrics = Metrics<typeof CONTROLLER_METRICS>;

/** Those of the process in which the controller runs; `admission`: together with those of admission. */
export function controllerMetrics(options: {
  readonly byNamespace: boolean;
  readonly admission?: boolean;
}): ControllerMetrics & AdmissionMetrics {
  const off = options.byNamespace ? [] : (['reloader_reload_executed_total_by_namespace'] as const);
  const unserved = options.admission ? [] : (Object.keys(ADMISSION_METRICS) as (keyof typeof ADMISSION_METRICS)[]);
  return createMetrics({ ...CONTROLLER_METRICS, ...ADMISSION_METRICS }, [...off, ...unserved]);
}
