import { expect, test } from 'vitest';
import { encodeRecord, otherVersion, parseRecord, readRecord, saysConfigsAsk, withoutFingerprints } from './record.ts';

const RECORD = { uid: 'w', seq: 3, key: 'k', template: 't', sources: { 'Secret/db': 'x' } } as const;
const inVersion = (v: unknown): string => JSON.stringify({ ...RECORD, v });

test('a record is read as it was written', () => {
  expect(parseRecord(encodeRecord(RECORD), 'w', 'k')).toMatchObject(RECORD);
  expect(otherVersion(encodeRecord(RECORD))).toBeUndefined();
  // Whatever the order of its members.
  expect(readRecord(inVersion(2))).toMatchObject(RECORD);
  expect(otherVersion(inVersion(2))).toBeUndefined();
});

test.each([1, 3])('a record of version %d is known and says nothing', (v) => {
  expect(readRecord(inVersion(v))).toBeUndefined();
  expect(otherVersion(inVersion(v))).toBe(v);
});

test.each([undefined, '', '{', 'null', '[]', '{}', '"v"', inVersion('1'), inVersion(undefined)])(
  '%j is no record',
  (text) => {
    expect(readRecord(text)).toBeUndefined();
    expect(otherVersion(text)).toBeUndefined();
  },
);

test('a record of version 1 keeps no fingerprint, and what admission needs to know', () => {
  const text = JSON.stringify({ v: 1, ...RECORD, at: 5, seen: 7, looks: [['t', 1]], configs: true });
  const left = withoutFingerprints(text);
  expect(JSON.parse(left ?? '')).toEqual({
    ...{ v: 2, uid: 'w', seq: 3, key: '', template: '', sources: {} },
    ...{ at: 5, configs: true },
  });
  expect([saysConfigsAsk(text), saysConfigsAsk(left), saysConfigsAsk(inVersion(1))]).toEqual([true, true, false]);
  expect(parseRecord(left, 'w', 'k')).toBeUndefined();
  expect([left, inVersion(3), '{"v":1}', '{', undefined].map(withoutFingerprints)).toEqual(Array(5).fill(undefined));
});
