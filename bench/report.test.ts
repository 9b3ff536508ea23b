import { describe, expect, it } from 'vitest';
import { latencyPicture } from './pictures.ts';
import { linearTicks, logTicks } from './plot.ts';
import { parseMemory, parseTicks } from './process-figures.ts';
import { report } from './report.ts';
import { figure, growthOf, type Result } from './results.ts';
import { targetResults } from './targets.ts';

const result = (contender: string, scenario: string, figures: Record<string, number>, size?: number): Result => ({
  contender,
  scenario,
  figures,
  load: 0.5,
  ...(size === undefined ? {} : { size }),
});

const LATENCY = [
  result('floor h1', 'latency', { 'p50 ms': 3, 'p99 ms': 6 }),
  result('floor h2', 'latency', { 'p50 ms': 2, 'p99 ms': 9 }),
  result('attune', 'latency', { 'p50 ms': 2.9, 'p99 ms': 11, 'reads per change': 0 }),
  result('peer', 'latency', { 'p50 ms': 29, 'p99 ms': 110 }),
];

describe('the floor', () => {
  it('is the best of the ways to send, for each figure', () => {
    expect(figure(LATENCY, { scenario: 'latency', contender: 'floor' }, 'p50 ms')).toBe(2);
    expect(figure(LATENCY, { scenario: 'latency', contender: 'floor' }, 'p99 ms')).toBe(6);
  });

  it('is not a peer, and no size stands for another', () => {
    const sized = [result('attune', 'fanout', { x: 1 }, 100), result('attune', 'fanout', { x: 9 }, 1000)];
    expect(figure(sized, { scenario: 'fanout', contender: 'attune', size: 1000 }, 'x')).toBe(9);
    expect(figure(LATENCY, { scenario: 'latency', contender: 'nobody' }, 'p50 ms')).toBeUndefined();
  });
});

describe('targets', () => {
  it('compares with the floor of the same run', () => {
    const byName = new Map(targetResults(LATENCY).map((outcome) => [outcome.what, outcome]));
    expect(byName.get('latency p50')).toMatchObject({ measured: 2.9, floor: 2, met: false });
    expect(byName.get('latency p99')).toMatchObject({ measured: 11, floor: 6, met: true });
    expect(byName.get('reads per change')).toMatchObject({ met: true });
  });

  it('says nothing about what was not measured', () => {
    expect(targetResults([result('attune', 'latency', { 'p50 ms': 1 })])).toEqual([]);
  });

  it('takes bytes for one more object from several sizes', () => {
    const results = [20_000, 50_000, 100_000].map((size) =>
      result('attune', 'secrets-100k', { 'RSS MB': 70 + size * 0.0012 }, size),
    );
    const [outcome] = targetResults(results);
    expect(outcome?.measured).toBeCloseTo(1200, 3);
    expect(outcome?.met).toBe(false);
  });
});

describe('growth', () => {
  it('keeps contenders and costs apart', () => {
    const results = [100, 1000].flatMap((size) => [
      result('floor', 'fanout', { 'last template ms': size }, size),
      result('attune', 'fanout', { 'last template ms': 50 + 2 * size, 'RSS MB': 80 }, size),
    ]);
    const slopes = growthOf(results).map(({ contender, figure: name, slope }) => [contender, name, slope]);
    expect(slopes).toEqual([
      ['floor', 'last template ms', 1],
      ['attune', 'last template ms', 2],
      ['attune', 'RSS MB', 0],
    ]);
  });
});

describe('the report', () => {
  it('gives ours beside the floor and each peer, with ratios', () => {
    const text = report(LATENCY, ['a machine']);
    expect(text).toContain('| p50 ms | 2.9 | 2 | 1.45× | 29 | 0.10× |');
    expect(text).toContain('| latency p50 | ≤ 1.4 × floor | 2.9 | 2 (1.45×) | **no** |');
    expect(text).toContain('a machine');
  });

  it('shows what is missing as missing', () => {
    expect(report([result('attune', 'x', { a: Number.NaN })], [])).toContain('| a | – |');
  });
});

it('reads memory as the kernel writes it', () => {
  expect(parseMemory('Name:\tnode\nVmHWM:\t  100 kB\nVmRSS:\t   42 kB\nRssAnon:\t   7 kB\n')).toEqual({
    rssBytes: 42 * 1024,
    peakBytes: 100 * 1024,
    ownBytes: 7 * 1024,
  });
  expect(() => parseMemory('Name:\tnode\n')).toThrow('VmRSS');
});

it('reads the time of all processors together, as the kernel writes it', () => {
  const stat = 'cpu  10 0 5 80 4 0 1 0 3 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n';
  // What guests used is part of the first figure already.
  expect(parseTicks(stat)).toEqual({ all: 100, idle: 84 });
});

describe('axes', () => {
  it('begin at zero and reach the greatest', () => {
    expect(linearTicks(97)).toEqual([0, 20, 40, 60, 80, 100]);
    expect(linearTicks(0)).toEqual([0, 0.2]);
  });

  it('exist even where a template was read of before the answer to the change', () => {
    const early = { ...result('attune', 'latency', {}), latencies: [-0.2, 0, 3] };
    expect(latencyPicture([early])).toContain('<polyline');
  });

  it('on a log scale enclose all values', () => {
    expect(logTicks([3, 96])).toEqual([2, 5, 10, 20, 50, 100]);
    expect(logTicks([1, 1])).toEqual([1]);
  });
});
