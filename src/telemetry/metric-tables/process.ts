import { counter, gauge } from '../metric.ts';

/** What every process tells about itself, whatever it does. */
export const PROCESS_METRICS = {
  process_cpu_seconds_total: counter([], 'CPU time of the process, user and system.'),
  process_resident_memory_bytes: gauge([], 'Resident memory of the process.'),
  process_start_time_seconds: gauge([], 'When the process started, in seconds since the epoch.'),
  nodejs_eventloop_lag_seconds: gauge([], 'Longest delay of the event loop since the last scrape.'),
  nodejs_heap_size_used_bytes: gauge([], 'JavaScript heap in use.'),
} as const;
