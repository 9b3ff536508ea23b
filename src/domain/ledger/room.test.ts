import fc from 'fast-check';
import { expect, test } from 'vitest';
import { partOfRecord, readRecord } from './record.ts';
import { fairShare, jsonBytes, withRoomFor } from './room.ts';
import type { SourceId } from './source-id.ts';

const LETTERS = ['a', '-', ' ', '"', '\\', '\u0001', '\u007f', 'ä', '€', '😀', '\ud800', '\udc00', '\u2028'];
const unit = fc.constantFrom(...LETTERS);
const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

test('bytes are counted as JSON in UTF-8 has them', () => {
  fc.assert(fc.property(fc.string({ unit }), (text) => jsonBytes(text) === bytesOf(text)));
  for (const text of LETTERS) expect(jsonBytes(text)).toBe(bytesOf(text));
});

test('what is kept fits, whatever letters names have', () => {
  const name = fc.string({ unit, maxLength: 300 });
  fc.assert(
    fc.property(fc.array(name, { maxLength: 30 }), fc.nat(3000), (names, room) => {
      const sources = Object.fromEntries(names.map((each, n) => [`Secret/${n}${each}`, n % 2 === 0 ? '-' : 'A']));
      const kept = withRoomFor(sources, room, []);
      expect(bytesOf(kept)).toBeLessThanOrEqual(room + 2);
      expect(sources).toMatchObject(kept);
    }),
  );
});

test('a record keeps to its room, whatever letters names have', () => {
  const ids = Array.from({ length: 2000 }, (_, n): SourceId => `Secret/${'"\u0001€'.repeat(20)}${n}`);
  const sources = Object.fromEntries(ids.map((id) => [id, '-']));
  const text = partOfRecord({ uid: 'u', seq: 3, key: 'k', template: 't', sources }, 32_768, ids.slice(-1)) ?? '';
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(32_768);
  expect(Object.keys(readRecord(text)?.sources ?? {})).toContain(ids.at(-1));
});

test('those that are named come first, and absent ones last', () => {
  const sources: Record<SourceId, string> = {
    'Secret/gone': '-',
    'Secret/a': 'A',
    'Secret/last': '-',
    'Secret/b': 'B',
  };
  const kept = (bytes: number) => Object.keys(withRoomFor(sources, bytes, ['Secret/last', 'Secret/never']));
  expect(kept(1000)).toEqual(['Secret/last', 'Secret/a', 'Secret/b', 'Secret/gone']);
  expect(kept(40)).toEqual(['Secret/last', 'Secret/a']);
  expect(kept(10)).toEqual([]);
});

test('a share is equal for all who need more than it, and nobody gets more than they need', () => {
  expect(fairShare([10, 20, 30], 60)).toBe(Number.POSITIVE_INFINITY);
  expect(fairShare([10, 100, 100], 60)).toBe(25);
  expect(fairShare([100, 100], 0)).toBe(0);
  expect(fairShare([], 0)).toBe(Number.POSITIVE_INFINITY);
  fc.assert(
    fc.property(fc.array(fc.nat(1000)), fc.nat(5000), (needs, room) => {
      const share = fairShare(needs, room);
      const taken = needs.reduce((sum, need) => sum + Math.min(need, share), 0);
      expect(taken).toBeLessThanOrEqual(room);
    }),
  );
});
