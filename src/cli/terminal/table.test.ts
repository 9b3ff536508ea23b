import { expect, it } from 'vitest';
import { painter, span, table, wrapped } from './table.ts';

const page = { width: 45, colour: false };

it('columns are as wide as their widest cell, and the last one wraps under itself', () => {
  const rows = [
    ['a', 'short', 'one two three four five six seven eight'],
    ['bcd', 'x', ''],
  ];
  expect(table(rows, page, 2)).toBe(
    ['  a    short  one two three four five six', '              seven eight', '  bcd  x', ''].join('\n'),
  );
});

it('a page too narrow for the last column has it below', () => {
  const rows = [
    ['✓', 'Deployment web', 'rolls (auto)', 'container web takes variables from it'],
    ['', '', '', 'to roll: set it'],
  ];
  const lines = table(rows, { ...page, width: 40 }).split('\n');
  expect(lines).toEqual([
    '✓  Deployment web  rolls (auto)',
    '    container web takes variables from',
    '    it',
    '    to roll: set it',
    '',
  ]);
});

it('colours take no room', () => {
  const paint = painter({ ...page, colour: true });
  const [first = '', second = ''] = table(
    [
      [paint('red', 'no'), 'x'],
      ['yes', 'y'],
    ],
    page,
  ).split('\n');
  expect(first).toBe('\x1b[31mno\x1b[0m   x');
  expect(second).toBe('yes  y');
  expect(painter(page)('red', 'no')).toBe('no');
});

it('a word longer than the line stays whole', () => {
  expect(wrapped('see reloader.stakater.com/auto now', 10)).toEqual(['see', 'reloader.stakater.com/auto', 'now']);
});

it.each([
  [0, '0 s'],
  [-90_000, '90 s'],
  [120_000, '2 min'],
  [7_200_000, '2 h'],
  [200_000_000, '2 d'],
])('%d ms are %s', (ms, text) => expect(span(ms)).toBe(text));
