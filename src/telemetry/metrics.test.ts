import fc from 'fast-check';
import { expect, test } from 'vitest';
import { counter } from './metric.ts';
import { ADMISSION_METRICS, type AdmissionMetrics } from './metric-tables/admission.ts';
import { CONTROLLER_METRICS, type ControllerMetrics, controllerMetrics } from './metric-tables/controller.ts';
import { createMetrics } from './metrics.ts';

const create = (byNamespace = false): ControllerMetrics => controllerMetrics({ byNamespace });

/** The lines of one metric, its comments included. */
const linesOf = (metrics: ControllerMetrics, name: string): string[] =>
  metrics
    .render()
    .split('\n')
    .filter((line) => new RegExp(`(^|HELP |TYPE )${name}(_bucket|_sum|_count)?[{ ]`).test(line));

test('both outcomes of a reload exist from the start', () => {
  expect(linesOf(create(), 'reloader_reload_executed_total')).toEqual([
    '# HELP reloader_reload_executed_total Workloads written to because of a change.',
    '# TYPE reloader_reload_executed_total counter',
    'reloader_reload_executed_total{success="true"} 0',
    'reloader_reload_executed_total{success="false"} 0',
  ]);
});

test('what has no labels exists from the start, what has labels when it first happens', () => {
  const metrics = create();
  expect(linesOf(metrics, 'reloader_retries_total')).toContain('reloader_retries_total 0');
  expect(linesOf(metrics, 'reloader_action_total')).toEqual([]);
  metrics.increment('reloader_retries_total');
  metrics.increment('reloader_retries_total', {}, 2);
  metrics.increment('reloader_action_total', { result: 'success', workload_kind: 'Deployment' });
  expect(linesOf(metrics, 'reloader_retries_total')).toContain('reloader_retries_total 3');
  expect(linesOf(metrics, 'reloader_action_total')).toContain(
    'reloader_action_total{workload_kind="Deployment",result="success"} 1',
  );
});

test('a gauge holds what was set last', () => {
  const metrics = create();
  metrics.set('attune_source_objects', { kind: 'Secret' }, 5);
  metrics.set('attune_source_objects', { kind: 'Secret' }, 4);
  expect(linesOf(metrics, 'attune_source_objects')).toContain('attune_source_objects{kind="Secret"} 4');
});

test('buckets add up, and a limit belongs to its bucket', () => {
  const metrics = create();
  for (const seconds of [0.01, 0.02, 1, 100]) {
    metrics.observe('rest_client_request_duration_seconds', { verb: 'GET', host: 'h' }, seconds);
  }
  expect(linesOf(metrics, 'rest_client_request_duration_seconds').slice(2)).toEqual([
    ...['0.001', '0.01', '0.05', '0.1', '0.5', '1', '5', '10', '30', '+Inf'].map((limit, index) => {
      const count = [0, 1, 2, 2, 2, 3, 3, 3, 3, 4][index];
      return `rest_client_request_duration_seconds_bucket{verb="GET",host="h",le="${limit}"} ${count}`;
    }),
    'rest_client_request_duration_seconds_sum{verb="GET",host="h"} 101.03',
    'rest_client_request_duration_seconds_count{verb="GET",host="h"} 4',
  ]);
});

test('counts by namespace only where asked for', () => {
  const labels = { success: 'true', namespace: 'shop' };
  const name = 'reloader_reload_executed_total_by_namespace';
  for (const byNamespace of [true, false]) {
    const metrics = create(byNamespace);
    metrics.increment(name, labels);
    expect(linesOf(metrics, name)).toHaveLength(byNamespace ? 3 : 0);
  }
});

test('the process itself', () => {
  const value = (name: string): number => Number(linesOf(create(), name).at(-1)?.split(' ')[1]);
  expect(value('process_cpu_seconds_total')).toBeGreaterThan(0);
  expect(value('process_resident_memory_bytes')).toBeGreaterThan(1e6);
  expect(value('nodejs_heap_size_used_bytes')).toBeGreaterThan(1e5);
  expect(value('nodejs_eventloop_lag_seconds')).toBeGreaterThanOrEqual(0);
  expect(Math.abs(value('process_start_time_seconds') - Date.now() / 1000)).toBeLessThan(3600);
});

test('names, types, labels and buckets of upstream', () => {
  const upstream = Object.entries(CONTROLLER_METRICS)
    .filter(([name]) => /^(reloader|rest_client)_/.test(name))
    .map(([name, { type, labels, buckets }]) => [name, type, labels.join(), buckets.join(' ')].join(' ').trim());
  expect(upstream).toEqual([
    'reloader_reload_executed_total counter success',
    'reloader_reload_executed_total_by_namespace counter success,namespace',
    'reloader_reconcile_total counter result',
    'reloader_reconcile_duration_seconds histogram result 0.001 0.005 0.01 0.025 0.05 0.1 0.25 0.5 1 2.5 5 10',
    'reloader_action_total counter workload_kind,result',
    'reloader_action_latency_seconds histogram workload_kind 0.01 0.05 0.1 0.25 0.5 1 2.5 5 10 30 60',
    'reloader_skipped_total counter reason',
    'reloader_workqueue_depth gauge',
    'reloader_workqueue_adds_total counter',
    'reloader_workqueue_latency_seconds histogram  0.001 0.005 0.01 0.025 0.05 0.1 0.25 0.5 1 2.5 5',
    'reloader_errors_total counter type',
    'reloader_retries_total counter',
    'reloader_events_received_total counter event_type,resource_type',
    'reloader_events_processed_total counter event_type,resource_type,result',
    'reloader_workloads_scanned_total counter kind',
    'reloader_workloads_matched_total counter kind',
    'rest_client_requests_total counter code,method,host',
    'rest_client_request_duration_seconds histogram verb,host 0.001 0.01 0.05 0.1 0.5 1 5 10 30',
  ]);
});

test('whatever a label holds, each line is well formed and values stay apart', () => {
  const line = /^(# (HELP|TYPE) \w+ .+|\w+(\{\w+="([^"\\\n]|\\[\\n"])*"(,\w+="([^"\\\n]|\\[\\n"])*")*\})? [-+.\de]+)$/;
  fc.assert(
    fc.property(fc.uniqueArray(fc.string({ unit: fc.constantFrom('a', '"', '\\', '\n', ',') })), (reasons) => {
      const metrics = create();
      for (const reason of reasons) metrics.increment('reloader_skipped_total', { reason });
      const lines = metrics.render().split('\n').slice(0, -1);
      expect(lines.filter((each) => !line.test(each))).toEqual([]);
      expect(lines.filter((each) => /^reloader_skipped_total.* 1$/.test(each))).toHaveLength(reasons.length);
    }),
    { numRuns: 50 },
  );
});

test('a process shows the metrics of its own table and those about itself, and no others', () => {
  const metrics = createMetrics({ calls_total: counter(['code'], 'Calls.') });
  metrics.increment('calls_total', { code: '200' });
  // @ts-expect-error of another table
  metrics.increment('reloader_retries_total');
  const lines = metrics.render().split('\n');
  expect(lines).toContain('calls_total{code="200"} 1');
  const others = lines.filter((line) => line.startsWith('# TYPE') && !/ (process|nodejs)_/.test(line));
  expect(others).toEqual(['# TYPE calls_total counter']);
});

test('two tables in one registry: each part of the program takes the names of its own', () => {
  const both = createMetrics({ ...CONTROLLER_METRICS, ...ADMISSION_METRICS });
  const controller: ControllerMetrics = both;
  const admission: AdmissionMetrics = both;
  controller.increment('reloader_retries_total');
  admission.increment('attune_admission_restored_marks_total', { mark: 'record' });
  // @ts-expect-error: a name of the other table.
  admission.increment('reloader_retries_total');
  const lines = both.render().split('\n');
  expect(lines).toContain('reloader_retries_total 2');
  expect(lines).toContain('attune_admission_restored_marks_total{mark="record"} 1');
  expect(lines.filter((line) => line.startsWith('process_start_time_seconds '))).toHaveLength(1);
  const alone: AdmissionMetrics = createMetrics(ADMISSION_METRICS);
  expect(alone.render()).toContain('attune_admission_registered 0');
});
