import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { matches, parseSelector, type Selector, selectorText } from './selector.ts';

function selector(text: string): Selector {
  const parsed = parseSelector(text);
  if ('error' in parsed) throw new Error(parsed.error);
  return parsed.selector;
}

const LABELS = { app: 'web', tier: '3', empty: '' };

describe('matching', () => {
  test.each([
    ['', true],
    ['app', true],
    ['app=web', true],
    ['app==web', true],
    [' app = web , tier ', true],
    ['app!=web', false],
    ['app!=db', true],
    ['none!=db', true],
    ['!none', true],
    ['! app', false],
    ['app in (db, web)', true],
    ['app notin (db,web)', false],
    ['none notin (db)', true],
    ['none in (db)', false],
    ['tier>2', true],
    ['tier < 3', false],
    ['app>1', false],
    ['none>1', false],
    ['empty=', true],
    ['empty in (,x)', true],
    ['app=,tier=3', false],
    ['app=web,tier=4', false],
    ['constructor', false],
    ['example.com/app notin (x)', true],
  ])('%s: %s', (text, expected) => {
    expect(matches(selector(text), LABELS)).toBe(expected);
  });
});

test.each([
  'app=web,',
  ',app',
  'app web',
  '=web',
  'app in web',
  'app in (web',
  'app in ()',
  'app in (a b)',
  'app in (a=b)',
  'app)',
  'app=(x)',
  '!app=web',
  'app>x',
  'app=-x',
  'a/b/c',
  '-app',
  '/app',
  'UPPER.example/app',
  `app=${'x'.repeat(64)}`,
  '!',
])('%j is refused with what was expected', (text) => {
  const parsed = parseSelector(text);
  expect('error' in parsed && parsed.error).toMatch(/\w/);
});

test('any text parses or is refused, and what parses can be asked', () => {
  const words = fc.array(
    fc.constantFrom('a', 'b/c', '=', '==', '!=', '!', 'in', 'notin', '(', ')', ',', '<', '>', ' ', '5'),
  );
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        words.map((list) => list.join('')),
      ),
      (text) => {
        const parsed = parseSelector(text);
        if ('selector' in parsed) expect(typeof matches(parsed.selector, { a: '5' })).toBe('boolean');
      },
    ),
    { numRuns: 1000 },
  );
});

describe('the selector of a workload, as text', () => {
  test.each([
    [{ matchLabels: { app: 'web', tier: 'a' } }, 'app=web,tier=a'],
    [
      {
        matchLabels: { app: 'web' },
        matchExpressions: [
          { key: 'a', operator: 'In', values: ['x', 'y'] },
          { key: 'b', operator: 'NotIn', values: ['z'] },
          { key: 'c', operator: 'Exists' },
          { key: 'd', operator: 'DoesNotExist' },
        ],
      },
      'app=web,a in (x,y),b notin (z),c,!d',
    ],
    // A DeploymentConfig's has no inner members.
    [{ app: 'web' }, 'app=web'],
    [
      {
        matchExpressions: [
          { key: 'a', operator: '__proto__' },
          { key: 'b', operator: 'toString', values: ['x'] },
        ],
      },
      '',
    ],
    [{}, ''],
    [undefined, ''],
  ])('%j: %s', (given, text) => {
    expect(selectorText(given)).toBe(text);
    expect(parseSelector(text)).toHaveProperty('selector');
  });
});
