import { getBuiltinModule } from 'node:process';
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

test('what a value takes counts too: full means that those before are gone', () => {
  const cache = new TextCache<number>((size) => size);
  const MIB = 1024 * 1024;
  cache.set('a', MIB);
  cache.set('b', MIB / 2);
  expect([cache.get('a'), cache.get('b')]).toEqual([MIB, MIB / 2]);
  cache.set('b', MIB);
  expect([cache.get('a'), cache.get('b')]).toEqual([undefined, MIB]);
});

getBuiltinModule('node:v8').setFlagsFromString('--expose-gc');
const gc: () => void = getBuiltinModule('node:vm').runInNewContext('gc');
function heapUsed(): number {
  gc();
  return process.memoryUsage().heapUsed;
}

test.each([
  ['short texts', 5],
  ['long texts', 1000],
])('however many texts there are, it holds no more than 2 MiB, and the newest is there: %s', (_, length) => {
  const before = heapUsed();
  const cache = new TextCache<string>();
  let most = 0;
  for (let n = 0; n < 40_000; n += 1) {
    const text = Buffer.from(String(n).padEnd(length, '\u20ac')).toString();
    cache.set(text, text);
    expect(cache.get(text)).toBe(text);
    if (n % 2500 === 0) most = Math.max(most, heapUsed() - before);
  }
  expect(most).toBeLessThan(3 * 1024 * 1024);
  expect(cache.bytes).toBeLessThanOrEqual(2 * 1024 * 1024);
});
