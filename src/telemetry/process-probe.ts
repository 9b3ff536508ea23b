import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { PROCESS_METRICS } from './metric-tables/process.ts';

/** Each wake-up of an idle process costs a tenth of a millisecond; a stall that matters is longer than half a second. */
const RESOLUTION_MS = 500;

/** Each call looks at this process. */
export function createProcessProbe(): () => Readonly<Record<keyof typeof PROCESS_METRICS, number>> {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  const startSeconds = Math.round(performance.timeOrigin) / 1000;
  return () => {
    const { user, system } = process.cpuUsage();
    const { rss, heapUsed } = process.memoryUsage();
    const lagSeconds = Math.max(0, delay.max / 1e9 - RESOLUTION_MS / 1000);
    delay.reset();
    return {
      process_cpu_seconds_total: (user + system) / 1e6,
      process_resident_memory_bytes: rss,
      process_start_time_seconds: startSeconds,
      nodejs_eventloop_lag_seconds: lagSeconds,
      nodejs_heap_size_used_bytes: heapUsed,
    };
  };
}
