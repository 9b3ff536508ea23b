import fc from 'fast-check';
import { RE2JS } from 're2js';
import { expect, test } from 'vitest';
import { rounds } from '../../../test/support/soak.ts';
import { sizeOf } from './expression-size.ts';

const PROGRAM = 100;

/** The number of instructions; undefined: it is no expression. */
function instructions(text: string): number | undefined {
  try {
    return RE2JS.compile(`^${text}$`).programSize();
  } catch {
    return undefined;
  }
}

const PIECES = [
  ...[
    'a',
    'b',
    '.',
    '-',
    '^',
    '$',
    '|',
    '(',
    '(?:',
    '(?i)',
    '(?P<n>',
    ')',
    '*',
    '+',
    '?',
    '*?',
    '1',
    ',',
    ' ',
    'é',
    '𞥂',
  ],
  ...[
    '{2}',
    '{0}',
    '{3,}',
    '{2,4}',
    '{0,3}',
    '{',
    '}',
    '{,5}',
    '{a}',
    '[',
    '[^',
    ']',
    '[]',
    '[^]',
    '[:',
    ':]',
    '[[:word:]',
  ],
  ...[
    '\\',
    '\\d',
    '\\b',
    '\\pL',
    '\\PL',
    '\\p{Greek}',
    '\\x41',
    '\\x{61}',
    '\\Q',
    '\\E',
    '\\(',
    '\\[',
    '\\]',
    '\\\\',
    '\\12',
  ],
  ...['[a-z]', '[(]', '[)]', '[a-]', '[!-[:x:]', '[\\d-[:word:]', '[\\]]', '(a{10}){10}', 'x{100}', '(?:a|b)'],
];

test('the size is never below what RE2 compiles', () => {
  const texts = fc.array(fc.constantFrom(...PIECES), { maxLength: 24 }).map((pieces) => pieces.join(''));
  let compiled = 0;
  fc.assert(
    fc.property(texts, (text) => {
      if (sizeOf(text) > 1e6) return;
      const count = instructions(text);
      if (count === undefined) return;
      compiled += 1;
      expect(sizeOf(text)).toBeGreaterThanOrEqual(count);
    }),
    { numRuns: rounds(3000, 100_000) },
  );
  expect(compiled).toBeGreaterThan(100);
});

test.each([
  '((a{10}){10}){10}',
  '(?i)straße',
  '(?i)(k|s|[kK]){9}',
  '\\pL{20}',
  '[[:^word:]]{100}',
  '(aaaaaaaaaa[(]b){90}',
  '(aaaaaaaaaa[)]b){90}',
  '(aaaaaaaaaa\\Q(\\Eb){90}',
  '(aaaaaaaaaa[!-[:x:](b)]){90}',
  '((a*)*)*{1}',
  '(|a|){50}',
  '(){100}',
  'x{100}(?i){2,4}',
  'x{100}\\Q\\E{2,4}',
])('%s is not underrated', (text) => {
  expect(sizeOf(text)).toBeGreaterThanOrEqual(instructions(text) ?? 0);
});

test('what people write is about as large as what RE2 compiles', () => {
  for (const text of ['app', 'my.config', '[a-z0-9-]{63}', 'team-[a-f]{8}', '\\d{4}-\\d{2}', 'a\\.b\\.c']) {
    expect(sizeOf(text)).toBeLessThanOrEqual((instructions(text) ?? 0) + PROGRAM + 10);
  }
});

test('what is dear to compile or to match is large', () => {
  // 600 ms, 110 ms and 5 MB, 250 ms for one name.
  expect(sizeOf(`(?i)${'[C-𞥂]'.repeat(160)}`)).toBeGreaterThan(100_000);
  expect(sizeOf('\\pL'.repeat(332))).toBeGreaterThan(100_000);
  expect(sizeOf('(?:a?){1000}'.repeat(4))).toBeGreaterThan(30_000);
});

/** Bytes that RE2 needs for an instruction, of which a small expression has hardly any. Measured: 50 to 110. */
test('how large an expression is does not depend on the number of its parts alone', () => {
  // 5 KB each, and 35 µs to compile a class.
  expect(sizeOf('0.')).toBeGreaterThanOrEqual(PROGRAM);
  expect(sizeOf('(?i)\\W') - sizeOf('a')).toBeGreaterThan(20);
  expect(sizeOf('[^ac]'.repeat(100)) - sizeOf('[^ac]{100}')).toBeGreaterThan(200);
});

test('whatever may be alive at many places at once is large', () => {
  const places = (text: string): number => sizeOf(text) - sizeOf('');
  expect(places('[ab]{200}')).toBeLessThan(300);
  for (const text of [
    '[ab]*a[ab]{200}',
    'c|[ab]{200}',
    '(?:[ab]{200}x?)*',
    '{0}[ab]{200}',
    '*[ab]{200}',
    '(c|(d))[ab]{200}',
  ]) {
    expect(places(text)).toBeGreaterThan(4000);
  }
});

test.each(['[a-z0-9.-]{1,253}', '(a|b)[a-z]{100}', '[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?'])(
  '%s is not too large',
  (text) => {
    expect(sizeOf(text)).toBeLessThanOrEqual(4096);
  },
);
