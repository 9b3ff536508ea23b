import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { median, percentile, seededRandom, slope } from './statistics.ts';

const samples = fc.array(fc.double({ noNaN: true, min: -1e6, max: 1e6 }), { minLength: 1, maxLength: 200 });

describe('percentile', () => {
  it('is the nearest rank', () => {
    const hundred = Array.from({ length: 100 }, (_, index) => 100 - index);
    expect(percentile(hundred, 0.5)).toBe(50);
    expect(percentile(hundred, 0.95)).toBe(95);
    expect(percentile(hundred, 0.99)).toBe(99);
    expect(percentile(hundred, 1)).toBe(100);
  });

  it('does not hide the worst of few samples', () => {
    expect(percentile([1, 1, 1, 1, 900], 0.99)).toBe(900);
    expect(percentile([7], 0.01)).toBe(7);
  });

  it('sorts numbers, not texts', () => {
    expect(median([9, 10, 100])).toBe(10);
  });

  it('is a sample, with as many at or below it as it says', () => {
    fc.assert(
      fc.property(samples, fc.double({ noNaN: true, min: 0.001, max: 1 }), (values, share) => {
        const value = percentile(values, share);
        expect(values).toContain(value);
        expect(values.filter((other) => other <= value).length).toBeGreaterThanOrEqual(share * values.length - 1e-9);
        expect(values.filter((other) => other < value).length).toBeLessThan(share * values.length + 1e-9);
      }),
    );
  });

  it('leaves the samples as they are, and says nothing about none', () => {
    const values = [3, 1, 2];
    percentile(values, 0.5);
    expect(values).toEqual([3, 1, 2]);
    expect(percentile([], 0.5)).toBeNaN();
  });
});

describe('slope', () => {
  it('finds what one more costs, whatever the fixed part', () => {
    fc.assert(
      fc.property(fc.integer({ min: -50, max: 50 }), fc.integer({ min: -1000, max: 1000 }), (each, fixed) => {
        const points = [100, 1000, 5000].map((x) => ({ x, y: fixed + each * x }));
        expect(slope(points)).toBeCloseTo(each, 6);
      }),
    );
  });

  it('is not defined by one size', () => {
    expect(slope([{ x: 1, y: 1 }])).toBeNaN();
    expect(
      slope([
        { x: 1, y: 1 },
        { x: 1, y: 2 },
      ]),
    ).toBeNaN();
  });
});

it('gives every contender the same load, spread over the whole range', () => {
  const numbers = (seed: number) => {
    const random = seededRandom(seed);
    return Array.from({ length: 1000 }, random);
  };
  expect(numbers(3)).toEqual(numbers(3));
  expect(numbers(3)).not.toEqual(numbers(4));
  const tenths = new Set(numbers(1).map((value) => Math.floor(value * 10)));
  expect([...tenths].sort()).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
});
