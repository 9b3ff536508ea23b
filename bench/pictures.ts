import { type Plot, type Series, svg } from './plot.ts';
import { growthOf, isFloor, type Result } from './results.ts';
import { percentile } from './statistics.ts';

const SHARES = Array.from({ length: 200 }, (_, index) => (index + 1) / 200);

/** How many of the changes were carried out after how long: the floor, ours, and the peers. */
export function latencyPicture(results: readonly Result[]): string | undefined {
  const taken = results.filter(({ scenario, latencies }) => scenario === 'latency' && latencies?.length);
  const median = ({ latencies = [] }: Result) => percentile(latencies, 0.5);
  const [best] = taken.filter(isFloor).sort((a, b) => median(a) - median(b));
  const series = taken
    .filter((result) => !isFloor(result) || result === best)
    .sort((a, b) => rank(a) - rank(b))
    .map(
      ({ contender, latencies = [] }): Series => ({
        name: contender.startsWith('floor') ? 'floor' : contender,
        // On a busy machine the bench may read of a template before it reads that the change was accepted.
        points: SHARES.map((share) => ({ x: Math.max(0.1, percentile(latencies, share)), y: share * 100 })),
      }),
    );
  if (series.length === 0) return undefined;
  return svg([
    {
      title: 'From an accepted change to the new pod template',
      x: { label: 'milliseconds', scale: 'log' },
      y: { label: 'carried out', scale: 'linear', format: (value) => `${value} %` },
      series,
    },
  ]);
}

/** Ours, the floor, then the peers: the colours follow. */
function rank(result: Result): number {
  if (result.contender === 'attune') return 0;
  return isFloor(result) ? 1 : 2;
}

const thousands = (value: number): string => (value >= 1000 ? `${value / 1000}k` : String(value));

const PANELS: readonly (readonly [scenario: string, figure: string, title: string, x: string, y: string])[] = [
  ['fanout', 'last template ms', 'One change, many workloads', 'workloads', 'ms to the last template'],
  ['secrets-20k', 'RSS MB', 'Memory beside Secrets of 10 KiB that nobody uses', 'Secrets', 'RSS, MB'],
  ['secrets-100k', 'RSS MB', 'Memory beside Secrets of 1 KiB that nobody uses', 'Secrets', 'RSS, MB'],
  ['idle-5000', 'RSS MB', 'Memory beside workloads', 'workloads', 'RSS, MB'],
  ['idle-5000', 'CPU ms per change', 'Processor time for a change beside other workloads', 'workloads', 'ms'],
];

export function growthPicture(results: readonly Result[]): string | undefined {
  const growth = growthOf(results);
  const plots = PANELS.flatMap(([scenario, figure, title, x, y]): Plot[] => {
    const series = growth
      .filter((one) => one.scenario === scenario && one.figure === figure)
      .map(({ contender, points }): Series => ({ name: contender, points: points.toSorted((a, b) => a.x - b.x) }))
      .sort((a, b) => Number(b.name === 'attune') - Number(a.name === 'attune'));
    if (series.length === 0) return [];
    return [
      {
        title,
        series,
        dots: true,
        x: { label: x, scale: 'linear', format: thousands },
        y: { label: y, scale: 'linear', format: thousands },
      },
    ];
  });
  return plots.length === 0 ? undefined : svg(plots);
}
