import { monitorEventLoopDelay } from 'node:perf_hooks';

interface ProcessSample {
  readonly cpuSeconds: number;
  readonly residentBytes: number;
  readonly heapBytes: number;
  readonly startSeconds: number;
  /** The longest delay since the previous sample. */
  readonly lagSeconds: number;
}

/** Each wake-up of an idle process costs a tenth of a millisecond; a stall that matters is longer than half a second. */
const RESOLUTION_MS = 500;

/** Each call looks at this process. */
export function createProcessProbe(): () => ProcessSample {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  const startSeconds = Math.round(performance.timeOrigin) / 1000;
  return () => {
    const { user, system } = process.cpuUsage();
    const { rss, heapUsed } = process.memoryUsage();
    const lagSeconds = Math.max(0, delay.max / 1e9 - RESOLUTION_MS / 1000);
    delay.reset();
    return { cpuSeconds: (user + system) / 1e6, residentBytes: rss, heapBytes: heapUsed, startSeconds, lagSeconds };
  };
}
