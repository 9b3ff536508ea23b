import { expect, test } from 'vitest';
import { visible, visibleLines } from './visible.ts';

test.each([
  ['plain, ünïcode and 日本語', 'plain, ünïcode and 日本語'],
  ['\x1b[2Jcleared', '\\u001b[2Jcleared'],
  ['\x9b31mC1', '\\u009b31mC1'],
  ['DEL\x7f', 'DEL\\u007f'],
  ['two\r\nlines\t', 'two\\r\\nlines\\t'],
  ['right\u202eto left\u2066\u2069\u200f', 'right\\u202eto left\\u2066\\u2069\\u200f'],
  ['separators\u2028\u2029', 'separators\\u2028\\u2029'],
])('%j', (text, shown) => {
  expect(visible(text)).toBe(shown);
});

test('lines may stay lines', () => {
  expect(visibleLines('one\ntwo\x07\r\n')).toBe('one\ntwo\\u0007\\r\n');
});
