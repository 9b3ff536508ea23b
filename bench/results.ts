import type { Calls } from './audit.ts';
import { type Point, slope } from './statistics.ts';

/** What one contender did in one scenario. */
export interface Result {
  readonly scenario: string;
  readonly contender: string;
  /** For costs that are taken at several sizes. */
  readonly size?: number;
  /** By name with unit, for example "p50 ms". */
  readonly figures: Readonly<Record<string, number>>;
  readonly calls?: Calls;
  readonly latencies?: readonly number[];
  /** The machine's load average before it began: a busy machine measures itself. */
  readonly load: number;
  readonly note?: string;
}

export const isFloor = ({ contender }: Result): boolean => contender.startsWith('floor');

/** A figure of a contender; of the floor, whichever way of sending was the best at it. */
export function figure(
  results: readonly Result[],
  where: { readonly scenario: string; readonly contender: string; readonly size?: number },
  name: string,
): number | undefined {
  const values = results
    .filter((result) => result.scenario === where.scenario && (where.size === undefined || result.size === where.size))
    .filter((result) => (where.contender === 'floor' ? isFloor(result) : result.contender === where.contender))
    .flatMap(({ figures }) => figures[name] ?? []);
  return values.length === 0 ? undefined : Math.min(...values);
}

/** A cost at several sizes, and what one more costs. */
export interface Growth {
  readonly scenario: string;
  readonly contender: string;
  readonly figure: string;
  readonly points: readonly Point[];
  /** In the figure's unit for each one more. */
  readonly slope: number;
}

const GROWING = ['last template ms', 'first reaction ms', 'RSS MB', 'peak MB', 'p50 ms', 'CPU ms per change'];

export function growthOf(results: readonly Result[]): Growth[] {
  const sized = results.filter(({ size }) => size !== undefined);
  const series = new Map<string, Result[]>();
  for (const result of sized) {
    const key = `${familyOf(result.scenario)}\n${result.contender}`;
    series.set(key, [...(series.get(key) ?? []), result]);
  }
  return [...series].flatMap(([key, members]) => {
    const [scenario = '', contender = ''] = key.split('\n');
    return GROWING.flatMap((name) => {
      const points = members.flatMap(({ size = 0, figures }) => {
        const y = figures[name];
        return y === undefined || Number.isNaN(y) ? [] : [{ x: size, y }];
      });
      return points.length < 2 ? [] : [{ scenario, contender, figure: name, points, slope: slope(points) }];
    });
  });
}

/** Fan-outs of all sizes are one series; piles differ in what they are made of. */
function familyOf(scenario: string): string {
  return scenario.startsWith('fanout') ? 'fanout' : scenario;
}
