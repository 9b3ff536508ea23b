import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { SourceRef } from '../../api/sources.ts';
import { ABSENT, UNKNOWN } from '../../domain/ledger/applied.ts';
import type { Source } from '../../domain/source/source.ts';
import { SourceHistory } from './source-history.ts';

const REF: SourceRef = { kind: 'ConfigMap', namespace: 'shop', name: 'app' };
const source = (exact: string | undefined, version: number): Source => ({
  ref: REF,
  uid: 'app',
  resourceVersion: String(version),
  fingerprint: exact === undefined ? undefined : { exact, mark: exact },
  ignored: false,
  matchable: false,
});

test('tells what a source held at a moment of the past', () => {
  const book = new SourceHistory();
  book.put(source('A', 10), true);
  book.put(source('A', 20), false);
  book.put(source('B', 30), false);
  book.remove(REF, 40);
  book.put(source('C', 50), true);
  expect([5, 10, 29, 30, 39, 40, 49, 50, 99].map((version) => book.at(REF, version))).toEqual([
    ABSENT,
    'A',
    'A',
    'B',
    'B',
    ABSENT,
    ABSENT,
    'C',
    'C',
  ]);
  expect(book.atListing(REF)).toBe(ABSENT);
});

test('what was there before the listing is not known', () => {
  const book = new SourceHistory();
  book.put(source('A', 10), false);
  expect([book.at(REF, 9), book.at(REF, 10), book.atListing(REF)]).toEqual([UNKNOWN, 'A', 'A']);
});

test('reading what was listed is no change; a newer version is one', () => {
  const book = new SourceHistory();
  book.put(source(undefined, 10), false);
  expect(book.fill(source('A', 10))).toMatchObject({ before: UNKNOWN, after: 'A', isRead: true });
  expect(book.atListing(REF)).toBe('A');

  const late = new SourceHistory();
  late.put(source(undefined, 10), false);
  late.fill(source('B', 12));
  expect([late.atListing(REF), late.at(REF, 11), late.at(REF, 12)]).toEqual([UNKNOWN, UNKNOWN, 'B']);
});

test('an answer that took longer than the watch is history', () => {
  const book = new SourceHistory();
  book.put(source(undefined, 10), false);
  book.put(source('B', 12), false);
  expect(book.fill(source('A', 10))).toMatchObject({ before: 'B', after: 'B' });
  expect([book.current(REF), book.at(REF, 11), book.at(REF, 12)]).toEqual(['B', UNKNOWN, 'B']);
  book.remove(REF, 14);
  expect(book.fill(source('B', 12))).toMatchObject({ before: ABSENT, after: ABSENT });
  expect(book.get(REF)).toBeUndefined();
});

test('a watch that lags behind what was read does not take it back', () => {
  const book = new SourceHistory();
  book.put(source(undefined, 10), false);
  book.fill(source('C', 20));
  expect(book.put(source('B', 15), false)).toMatchObject({ before: 'C', after: 'C' });
  expect(book.remove(REF, 17)).toMatchObject({ before: 'C', after: 'C' });
  expect(book.put(source('C', 20), true)).toMatchObject({ before: 'C', after: 'C' });
  expect(book.put(source('D', 21), false)).toMatchObject({ before: 'C', after: 'D' });
  // Its absence in a newer listing counts, whatever was read before.
  book.fill(source('E', 30));
  expect(book.remove(REF, undefined)).toMatchObject({ before: 'E', after: ABSENT });
});

test('any history of versions is told as it was, as far back as it is kept', () => {
  const change = fc.constantFrom('A', 'B', 'C', ABSENT);
  fc.assert(
    fc.property(fc.array(change, { minLength: 1, maxLength: 7 }), (values) => {
      const book = new SourceHistory();
      for (const [at, value] of values.entries()) {
        const before = book.current(REF);
        if (value === ABSENT) book.remove(REF, at + 1);
        else book.put(source(value, at + 1), before === ABSENT);
      }
      for (const [at, value] of values.entries()) expect(book.at(REF, at + 1)).toBe(value);
      expect(book.current(REF)).toBe(values.at(-1));
    }),
  );
});
