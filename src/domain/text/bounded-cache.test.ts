import fc from 'fast-check';
import { expect, test } from 'vitest';
import { BoundedCache } from './bounded-cache.ts';

test('the values that were not used for the longest time go first', () => {
  const cache = new BoundedCache<number>(10);
  cache.set('a', 1, 4);
  cache.set('b', 2, 4);
  expect(cache.get('a')).toBe(1);
  cache.set('c', 3, 4);
  expect([cache.get('a'), cache.get('b'), cache.get('c')]).toEqual([1, undefined, 3]);
});

test('a value that is heavier than the capacity is not kept, and drives out no other', () => {
  const cache = new BoundedCache<number>(10);
  cache.set('a', 1, 4);
  cache.set('b', 2, 11);
  expect([cache.get('a'), cache.get('b')]).toEqual([1, undefined]);
});

test('the weight is that of what is kept, and never above the capacity', () => {
  const entry = fc.tuple(fc.constantFrom('a', 'b', 'c', 'd', 'e'), fc.nat(12));
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 50 }), (entries) => {
      const cache = new BoundedCache<number>(10);
      for (const [key, weight] of entries) {
        cache.set(key, weight, weight);
        expect(cache.weight).toBeLessThanOrEqual(10);
      }
      const kept = ['a', 'b', 'c', 'd', 'e'].map((key) => cache.get(key) ?? 0);
      expect(cache.weight).toBe(kept.reduce((sum, each) => sum + each, 0));
    }),
  );
});
