import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LineSplitter } from './json-lines.ts';

/** Cuts `bytes` at the given places. */
function chunked(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  return [...places, bytes.length].map((endpoint, i) => bytes.subarray(places[i - 1] ?? 0, endpoint));
}

const textsOf = (splitter: LineSplitter, chunk: Buffer) => splitter.push(chunk)?.map(String);

test('the lines do not depend on where the chunks were cut, not even inside a character', () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: 'grapheme', minLength: 1 }).map((text) => JSON.stringify(text))),
      fc.array(fc.nat()),
      (lines, cuts) => {
        const splitter = new LineSplitter(10_000);
        const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''));
        expect(chunked(bytes, cuts).flatMap((chunk) => textsOf(splitter, chunk))).toEqual(lines);
      },
    ),
  );
});

test('what follows the last newline is not a line', () => {
  const splitter = new LineSplitter(100);
  expect(textsOf(splitter, Buffer.from('{"a":1}\n{"b":'))).toEqual(['{"a":1}']);
  expect(textsOf(splitter, Buffer.from('2}'))).toEqual([]);
  expect(textsOf(splitter, Buffer.from('\n'))).toEqual(['{"b":2}']);
});

test('empty lines are none', () => {
  expect(textsOf(new LineSplitter(100), Buffer.from('\n\na\n\n'))).toEqual(['a']);
});

test.each([
  ['in one chunk', ['12345678901\n']],
  ['in many chunks', ['1234', '5678', '901\n']],
  ['before its end has come', ['12345678901']],
  ['behind a good line', ['1\n12345678901\n']],
])('a line over the limit is refused: %s', (_, chunks) => {
  const splitter = new LineSplitter(10);
  expect(chunks.map((chunk) => splitter.push(Buffer.from(chunk))).at(-1)).toBeUndefined();
});

test('a line as long as the limit is not over it', () => {
  const splitter = new LineSplitter(10);
  expect(textsOf(splitter, Buffer.from('12345'))).toEqual([]);
  expect(textsOf(splitter, Buffer.from('67890\n'))).toEqual(['1234567890']);
});

test('the limit is for each line, not for all together', () => {
  const splitter = new LineSplitter(10);
  for (let i = 0; i < 5; i += 1) {
    expect(textsOf(splitter, Buffer.from('1234'))).toEqual([]);
    expect(textsOf(splitter, Buffer.from('5678\n'))).toEqual(['12345678']);
  }
});

test('of what is put together to a line, or given up, nothing is left in the chunks', () => {
  const splitter = new LineSplitter(100);
  const chunks = ['a secr', 'et li', 'ne\nanother'].map((text) => Buffer.from(text));
  const lines = chunks.flatMap((chunk) => textsOf(splitter, chunk));
  expect(lines).toEqual(['a secret line']);
  splitter.clear();
  expect(Buffer.concat(chunks).toString().replaceAll('\0', '')).toBe('\n');
});
