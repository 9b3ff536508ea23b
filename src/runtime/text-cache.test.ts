import { expect, test } from 'vitest';
import { TextCache } from './text-cache.ts';

test('short texts are kept, long ones are not', () => {
  const cache = new TextCache<number>();
  cache.set('a', 1);
  cache.set('x'.repeat(1024), 2);
  cache.set('x'.repeat(1025), 3);
  expect([cache.get('a'), cache.get('x'.repeat(1024)), cache.get('x'.repeat(1025))]).toEqual([1, 2, undefined]);
});

test('the same text counts once, and its newest value is kept', () => {
  const cache = new TextCache<number>();
  cache.set('a', 1);
  const { bytes } = cache;
  cache.set('a', 2);
  expect([cache.get('a'), cache.bytes]).toEqual([2, bytes]);
});

test('however many texts there are, the bytes are bounded, and the newest is there', () => {
  const cache = new TextCache<number>();
  let most = 0;
  for (let n = 0; n < 20_000; n += 1) {
    const text = String(n).padEnd(n % 1024, 'x');
    cache.set(text, n);
    expect(cache.get(text)).toBe(n);
    most = Math.max(most, cache.bytes);
  }
  expect(most).toBeLessThanOrEqual(2 * 1024 * 1024);
  expect(most).toBeGreaterThan(1024 * 1024);
});
