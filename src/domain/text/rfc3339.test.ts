import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatTime, parseTime } from './rfc3339.ts';

const SECONDS = fc.integer({ min: -62_135_596_800, max: 253_402_300_799 });

test('any second of the years 1 to 9999 is written as every other program writes it', () => {
  fc.assert(
    fc.property(SECONDS, (seconds) => {
      expect(formatTime(seconds)).toBe(new Date(seconds * 1000).toISOString().replace('.000Z', 'Z'));
      expect(parseTime(formatTime(seconds))).toBe(seconds);
    }),
  );
});

test('zones and fractions', () => {
  expect(parseTime('2026-01-31T12:00:00+02:00')).toBe(parseTime('2026-01-31T10:00:00Z'));
  expect(parseTime('2026-01-31T12:00:00.999-00:30')).toBe(parseTime('2026-01-31T12:30:00Z'));
  expect(formatTime(1_767_225_600.9)).toBe('2026-01-01T00:00:00Z');
});

test.each([
  '',
  '2026-01-31',
  '2026-02-29T00:00:00Z',
  '2026-13-01T00:00:00Z',
  '2026-01-01T24:00:00Z',
  '2026-01-01 00:00:00Z',
  '2026-01-01T00:00:00',
  '2026-00-01T00:00:00Z',
])('%j is no time', (text) => {
  expect(parseTime(text)).toBeUndefined();
});

test('any text gives a number or nothing', () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.string(), fc.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[-+]\d\d:\d\d)$/)),
      (text) => {
        expect(Number.isInteger(parseTime(text) ?? 0)).toBe(true);
      },
    ),
  );
});
