import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseCsvRecord } from './csv-record.ts';

// Each row was compared with what pflag 1.0.10 makes of it.
test.each<[string, readonly string[] | undefined]>([
  ['', []],
  ['a', ['a']],
  ['a,b', ['a', 'b']],
  [',', ['', '']],
  [' a, b ', [' a', ' b ']],
  ['"a,b",c', ['a,b', 'c']],
  ['"k in (a,b)"', ['k in (a,b)']],
  ['"a""b"', ['a"b']],
  ['""', ['']],
  ['"a\r\nb"', ['a\nb']],
  ['\r\na\r', ['a']],
  ['a\nb', ['a']],
  ['a\rb', ['a\rb']],
  ['a"b', undefined],
  ['"a', undefined],
  ['"a"b', undefined],
  [' "a"', undefined],
  ['\n', undefined],
  ['\r', undefined],
])('%j', (text, expected) => {
  expect(parseCsvRecord(text)).toEqual(expected);
});

test('what is quoted comes back', () => {
  const field = fc.string({ unit: fc.constantFrom('a', ',', '"', ' ', '\n', 'é') });
  fc.assert(
    fc.property(fc.array(field, { minLength: 1 }), (fields) => {
      const record = fields.map((each) => `"${each.replaceAll('"', '""')}"`).join();
      expect(parseCsvRecord(record)).toEqual(fields);
    }),
  );
});

test('nothing throws', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom('"', ',', 'a', '\n', '\r', ' ') }),
      (text) => void parseCsvRecord(text),
    ),
  );
});
