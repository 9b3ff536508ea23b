import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ABSENT, compare, lifecycleOf, UNKNOWN } from './applied.ts';
import { believe } from './believe.ts';
import { encodeRecord, parseRecord, partOfRecord } from './record.ts';
import type { SourceId } from './source-id.ts';

const NEITHER = { compat: false, reloadOnCreate: false, reloadOnDelete: false };

test.each([
  // applied, current, flags, what it means
  ['A', 'A', {}, 'same'],
  ['A', 'B', {}, 'changed'],
  [UNKNOWN, 'B', {}, 'changed'],
  ['A', UNKNOWN, {}, 'unread'],
  [ABSENT, 'A', {}, 'settle'],
  [ABSENT, 'A', { reloadOnCreate: true }, 'created'],
  ['A', ABSENT, {}, 'keep'],
  ['A', ABSENT, { compat: true }, 'settle'],
  ['A', ABSENT, { reloadOnDelete: true }, 'deleted'],
  [ABSENT, ABSENT, { reloadOnDelete: true }, 'same'],
] as const)('pods run with %s, the source holds %s, %j: %s', (applied, current, flags, means) => {
  expect(compare(applied, current, { ...NEITHER, ...flags })).toBe(means);
});

test('who asked may say something else than the flags', () => {
  const flags = { compat: false, reloadOnCreate: false, reloadOnDelete: true };
  const asked = lifecycleOf('Secret', flags, { reloadOnCreate: true });
  expect([compare(ABSENT, 'A', asked), compare('A', ABSENT, asked)]).toEqual(['created', 'deleted']);
  expect(compare('A', ABSENT, lifecycleOf('Secret', flags, { reloadOnDelete: false }))).toBe('keep');
});

test('a class that comes into view was not created', () => {
  const flags = { compat: false, reloadOnCreate: true, reloadOnDelete: true };
  expect(compare(ABSENT, 'A', lifecycleOf('SecretProviderClass', flags))).toBe('settle');
  expect(compare(ABSENT, 'A', lifecycleOf('ConfigMap', flags))).toBe('created');
});

test.each([
  ['mark', { markIsCurrent: true, compat: true, record: { seq: 9, applied: 'A' } }, 'B'],
  ['mark', { markIsCurrent: true }, 'B'],
  ['record', { markIsCurrent: true, record: { seq: 9, applied: 'A' } }, 'A'],
  ['record', { record: { seq: 9, applied: 'A', isOvertaken: true }, checkpoint: { seq: 8, applied: 'C' } }, UNKNOWN],
  ['checkpoint', { record: { seq: 9, applied: 'A', isOvertaken: true }, checkpoint: { seq: 9, applied: 'C' } }, 'C'],
  ['record', { record: { seq: 2, applied: 'R' }, checkpoint: { seq: 1, applied: 'C' } }, 'R'],
  ['checkpoint', { record: { seq: 2, applied: 'R' }, checkpoint: { seq: 2, applied: 'C' } }, 'C'],
  ['checkpoint', { record: { seq: 3, applied: undefined }, checkpoint: { seq: 2, applied: 'C' } }, 'C'],
  ['record', { record: { seq: 1, applied: 'R' }, checkpoint: { seq: 2, applied: undefined } }, 'R'],
  ['baseline', {}, 'L'],
] as const)('the most trustworthy witness is the %s: %j', (from, given, applied) => {
  const none = {
    markIsCurrent: false,
    compat: false,
    current: 'B',
    record: undefined,
    checkpoint: undefined,
    baseline: 'L',
  };
  expect(believe({ ...none, ...given })).toEqual({ applied, from });
});

test('a record is read back as it was written, by whom it concerns and nobody else', () => {
  const record = { uid: 'u', seq: 3, key: 'k', template: 't', sources: { 'ConfigMap/app': 'A' } } as const;
  const text = encodeRecord(record);
  expect(parseRecord(text, 'u', 'k')).toMatchObject(record);
  expect([parseRecord(text, 'other', 'k'), parseRecord(text, 'u', 'other'), parseRecord(undefined, 'u', 'k')]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});

test('no text, however damaged, is more than no record', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
      expect(parseRecord(text, 'u', 'k')).toBeUndefined();
    }),
  );
});

test.each([
  { uid: 7 },
  { seq: 1.5 },
  { seq: '3' },
  { template: null },
  { sources: null },
  { sources: { 'ConfigMap/app': 1 } },
  { seen: '9' },
  { at: {} },
  { revision: 7 },
  { looks: {} },
  { looks: [['digest']] },
  { unseen: null },
])('a record that somebody edited is none: %j', (edited) => {
  const whole = { uid: 'u', seq: 3, key: 'k', template: 't', sources: {}, revision: 'r1', looks: [], unseen: 4 };
  expect(parseRecord(JSON.stringify({ v: 2, ...whole }), 'u', 'k')).toBeDefined();
  expect(parseRecord(JSON.stringify({ v: 2, ...whole, ...edited }), 'u', 'k')).toBeUndefined();
});

test('a record of too many sources has those that matter, says that it is not all, and keeps to its room', () => {
  const ids = Array.from({ length: 5000 }, (_, n): SourceId => `Secret/secret-${n}`);
  const sources = Object.fromEntries(ids.map((id) => [id, 'x'.repeat(22)])) as Record<SourceId, string>;
  const record = { uid: 'u', seq: 3, key: 'k', template: 't', sources };
  const last = ids.at(-1) as SourceId;
  const text = partOfRecord(record, 32_768, [last]) ?? '';
  expect(text.length).toBeLessThanOrEqual(32_768);
  expect(text.length).toBeGreaterThan(32_000);
  const read = parseRecord(text, 'u', 'k');
  expect(read).toMatchObject({ seq: 3, partial: true, sources: { [last]: sources[last] } });
  expect(partOfRecord(record, 50, [])).toBeUndefined();
});
