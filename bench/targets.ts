import { figure, growthOf, type Result } from './results.ts';

/** A target, and what was measured. */
export interface TargetResult {
  readonly what: string;
  readonly limit: string;
  readonly measured: number;
  readonly floor?: number;
  readonly met: boolean;
}

interface Target {
  readonly what: string;
  readonly scenario: string;
  readonly size?: number;
  readonly figure: string;
  /** The most that it may be: so many times the floor of the same run, or so much. */
  readonly timesFloor?: number;
  readonly atMost?: number;
}

const TARGETS: readonly Target[] = [
  { what: 'latency p50', scenario: 'latency', figure: 'p50 ms', timesFloor: 1.4 },
  { what: 'latency p99', scenario: 'latency', figure: 'p99 ms', timesFloor: 2 },
  {
    what: '1 change → 1000 workloads, ms',
    scenario: 'fanout',
    size: 1000,
    figure: 'last template ms',
    timesFloor: 1.5,
  },
  { what: 'writes per change', scenario: 'latency', figure: 'writes per change', atMost: 1 },
  { what: 'reads per change', scenario: 'latency', figure: 'reads per change', atMost: 0 },
  { what: 'Events per change', scenario: 'latency', figure: 'Events per change', atMost: 1 },
  { what: 'CPU ms per change', scenario: 'latency', figure: 'CPU ms per change', atMost: 2 },
  { what: 'RSS MB beside 50 pairs', scenario: 'latency', figure: 'RSS MB', atMost: 80 },
  { what: '1 change → 1000 workloads: RSS MB 30 s later', scenario: 'memory-1000', figure: 'RSS MB', atMost: 90 },
  { what: '1 change → 5000 workloads: RSS MB 30 s later', scenario: 'memory-5000', figure: 'RSS MB', atMost: 110 },
  { what: '3 changes → 3000 workloads: RSS MB 30 s later', scenario: 'memory-3x3000', figure: 'RSS MB', atMost: 110 },
  {
    what: '3000 workloads, 20,000 Secrets: RSS MB 30 s after a change',
    scenario: 'memory-secrets',
    figure: 'RSS MB',
    atMost: 130,
  },
  { what: '20,000 Secrets: RSS MB', scenario: 'secrets-20k', size: 20_000, figure: 'RSS MB', atMost: 90 },
  { what: '20,000 Secrets: peak MB', scenario: 'secrets-20k', size: 20_000, figure: 'peak MB', atMost: 110 },
  {
    what: '20,000 Secrets: start to first reaction, ms',
    scenario: 'secrets-20k',
    size: 20_000,
    figure: 'first reaction ms',
    atMost: 1150,
  },
  {
    what: 'idle CPU ms per s, 5000 workloads',
    scenario: 'idle-5000',
    size: 5000,
    figure: 'idle CPU ms per s',
    atMost: 1,
  },
  { what: 'admission: ms more for a PUT, median', scenario: 'admission', figure: 'added p50 ms', atMost: 3 },
  { what: 'admission: 500 reviews/s, p99 ms', scenario: 'admission', figure: 'reviews p99 ms', atMost: 5 },
  { what: 'admission: failed reviews', scenario: 'admission', figure: 'reviews failed', atMost: 0 },
  { what: 'admission: RSS MB more', scenario: 'admission', figure: 'added RSS MB', atMost: 20 },
  {
    what: '500 ReloaderConfigs: rollouts when they are created',
    scenario: 'configs',
    figure: 'rollouts for 500 new ReloaderConfigs',
    atMost: 0,
  },
  {
    what: '500 ReloaderConfigs: PATCHes of workloads per change',
    scenario: 'configs',
    figure: 'PATCHes of workloads per change',
    atMost: 1,
  },
  { what: '500 ReloaderConfigs: reads per change', scenario: 'configs', figure: 'reads per change', atMost: 0 },
  { what: 'agent for Redis: RSS MB 10 s after the last change', scenario: 'redis', figure: 'RSS MB', atMost: 60 },
  { what: 'rollouts for a batch of 5 changes', scenario: 'batch', figure: 'rollouts', atMost: 1 },
  { what: 'rollouts at the first start', scenario: 'startup', figure: 'surplus', atMost: 0 },
  { what: 'missed after a time of absence', scenario: 'downtime', figure: 'missed', atMost: 0 },
  { what: 'surplus after a time of absence', scenario: 'downtime', figure: 'surplus', atMost: 0 },
];

const BYTES_PER_OBJECT = 1000;

/** All targets about which the results say something. */
export function targetResults(results: readonly Result[]): TargetResult[] {
  const all = TARGETS.flatMap((target) => targetResult(target, results));
  for (const { scenario, contender, figure: name, slope } of growthOf(results)) {
    if (contender !== 'attune' || name !== 'RSS MB' || !scenario.startsWith('secrets')) continue;
    const bytes = slope * 1e6;
    const what = `bytes for one more Secret that nobody uses (${scenario})`;
    all.push({ what, limit: `≤ ${BYTES_PER_OBJECT}`, measured: bytes, met: bytes <= BYTES_PER_OBJECT });
  }
  return all;
}

function targetResult({ what, timesFloor, atMost, ...where }: Target, results: readonly Result[]): TargetResult[] {
  const measured = figure(results, { ...where, contender: 'attune' }, where.figure);
  if (measured === undefined) return [];
  if (atMost !== undefined) {
    // A call from before the measurement may end within it, which adds less than a hundredth.
    return [{ what, limit: `≤ ${atMost}`, measured, met: measured <= atMost + 0.01 }];
  }
  const floor = figure(results, { ...where, contender: 'floor' }, where.figure);
  if (floor === undefined || timesFloor === undefined) return [];
  return [{ what, limit: `≤ ${timesFloor} × floor`, measured, floor, met: measured <= timesFloor * floor }];
}
