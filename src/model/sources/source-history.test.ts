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
  labels: {},
});

test('tells what a source held at a moment of the past', () => {
  const history = new SourceHistory();
  history.put(source('A', 10), true);
  history.put(source('A', 20), false);
  history.put(source('B', 30), false);
  history.remove(REF, 40);
  history.put(source('C', 50), true);
  expect([5, 10, 29, 30, 39, 40, 49, 50, 99].map((version) => history.at(REF, version))).toEqual([
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
  expect(history.atListing(REF)).toBe(ABSENT);
});

test('what was there before the listing is not known', () => {
  const history = new SourceHistory();
  history.put(source('A', 10), false);
  expect([history.at(REF, 9), history.at(REF, 10), history.atListing(REF)]).toEqual([UNKNOWN, 'A', 'A']);
});

test('reading what was listed is no change; a newer version is one', () => {
  const history = new SourceHistory();
  history.put(source(undefined, 10), false);
  expect(history.fill(source('A', 10))).toMatchObject({ before: UNKNOWN, after: 'A', isRead: true });
  expect(history.atListing(REF)).toBe('A');

  const late = new SourceHistory();
  late.put(source(undefined, 10), false);
  late.fill(source('B', 12));
  expect([late.atListing(REF), late.at(REF, 11), late.at(REF, 12)]).toEqual([UNKNOWN, UNKNOWN, 'B']);
});

test('an answer that took longer than the watch is history', () => {
  const history = new SourceHistory();
  history.put(source(undefined, 10), false);
  history.put(source('B', 12), false);
  expect(history.fill(source('A', 10))).toMatchObject({ before: 'B', after: 'B' });
  expect([history.current(REF), history.at(REF, 11), history.at(REF, 12)]).toEqual(['B', UNKNOWN, 'B']);
  history.remove(REF, 14);
  expect(history.fill(source('B', 12))).toMatchObject({ before: ABSENT, after: ABSENT });
  expect(history.get(REF)).toBeUndefined();
});

test('a watch that lags behind what was read does not take it back', () => {
  const history = new SourceHistory();
  history.put(source(undefined, 10), false);
  history.fill(source('C', 20));
  expect(history.put(source('B', 15), false)).toMatchObject({ before: 'C', after: 'C' });
  expect(history.remove(REF, 17)).toMatchObject({ before: 'C', after: 'C' });
  expect(history.put(source('C', 20), true)).toMatchObject({ before: 'C', after: 'C' });
  expect(history.put(source('D', 21), false)).toMatchObject({ before: 'C', after: 'D' });
  // Its absence in a newer listing counts, whatever was read before.
  history.fill(source('E', 30));
  expect(history.remove(REF, 40, 25)).toMatchObject({ before: 'E', after: ABSENT });
});

test('what a listing shows to be gone went at no certain moment', () => {
  const history = new SourceHistory();
  history.put(source('A', 5), false);
  expect(history.remove(REF, 30, 10)).toMatchObject({ before: 'A', after: ABSENT, unseenFrom: 11 });
  expect([10, 11, 29, 30].map((version) => history.at(REF, version))).toEqual(['A', UNKNOWN, UNKNOWN, ABSENT]);
});

test('any history of versions is told as it was, as far back as it is kept', () => {
  const change = fc.constantFrom('A', 'B', 'C', ABSENT);
  fc.assert(
    fc.property(fc.array(change, { minLength: 1, maxLength: 7 }), (values) => {
      const history = new SourceHistory();
      for (const [at, value] of values.entries()) {
        const before = history.current(REF);
        if (value === ABSENT) history.remove(REF, at + 1);
        else history.put(source(value, at + 1), before === ABSENT);
      }
      for (const [at, value] of values.entries()) expect(history.at(REF, at + 1)).toBe(value);
      expect(history.current(REF)).toBe(values.at(-1));
    }),
  );
});

test('a source that is forgotten was never there, and leaves no empty namespace behind', () => {
  const history = new SourceHistory();
  history.put(source('A', 10), true);
  history.forget(REF);
  expect([history.current(REF), history.at(REF, 10), history.countIn('ConfigMap', 'shop')]).toEqual([
    ABSENT,
    ABSENT,
    0,
  ]);
  expect([...history.counts().keys()]).toEqual([]);
});
