import { describe, expect, test } from 'vitest';
import { patternsIn } from '../../src/domain/asks/name-pattern.ts';

const NAMES = [
  'cm',
  'a',
  'aaaa',
  'app',
  'app-',
  'app--',
  'app-1',
  'foo-x',
  'x-bar',
  'my-config',
  'my.config',
  'CM',
  'a1',
];

/** The pattern for one element, or why there is none. */
function read(text: string): { readonly matches?: (name: string) => boolean; readonly fault?: string } {
  const faults: string[] = [];
  const [pattern] = patternsIn(text, (_, fault) => faults.push(fault));
  return pattern ? { matches: (name) => pattern.matches(name) } : { fault: faults.join() };
}

/** Element of a named list, and which of the names above Go's regexp finds with it. */
const FOUND: readonly (readonly [string, readonly string[]])[] = [
  ['*', NAMES],
  ['?', NAMES],
  ['+', []],
  ['cm', ['cm']],
  ['CM', ['CM']],
  ['(?i)CM', ['cm', 'CM']],
  ['foo|bar', ['foo-x', 'x-bar']],
  ['app-*', ['app', 'app-', 'app--']],
  ['app-.*', ['app-', 'app--', 'app-1']],
  ['my.config', ['my-config', 'my.config']],
  ['my\\.config', ['my.config']],
  ['a{1', []],
  ['2}', []],
  ['a{4}', ['aaaa']],
  ['[[:alpha:]]+', ['cm', 'a', 'aaaa', 'app', 'CM']],
  ['(?P<n>a)', ['a']],
  ['(?<n>a)', ['a']],
  ['\\Qmy.config\\E', ['my.config']],
  ['cm\\z', ['cm']],
  ['\\pL\\d', ['a1']],
];

/** Refused by Go, some of them fine in JavaScript. */
const REFUSED = ['cm[', '(', 'a**', 'x++', '(?=a)', '(?<=a)', '(?!a)', '(a)\\1', '\\Z', 'a{1001}', '[z-a]', '(?z)a'];

describe('elements of a named list mean what Go makes of them', () => {
  test.each(FOUND)('%s finds %j', (text, found) => {
    expect(NAMES.filter((name) => read(text).matches?.(name))).toEqual(found);
  });

  test.each(REFUSED)('%s is refused, not thrown', (text) => {
    expect(read(text).fault).toMatch(/^is no RE2 regular expression: \w/);
  });

  test('text that Go takes for literal matches as such', () => {
    expect(read('a{1').matches?.('a{1')).toBe(true);
    expect(read('2}').matches?.('2}')).toBe(true);
  });
});
