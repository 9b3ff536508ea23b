import fc from 'fast-check';
import { RE2JS } from 're2js';
import { expect, test } from 'vitest';
import { rounds } from '../../../test/support/soak.ts';
import { expressionCosts } from './expression.ts';
import { elements, keptBytes, matchesOne, type NamePattern, patternsIn, wholePatterns } from './name-pattern.ts';

interface Read {
  readonly patterns: readonly NamePattern[];
  readonly faults: readonly string[];
}

function read(list: string): Read {
  const faults: string[] = [];
  return { patterns: patternsIn(list, (text, fault) => faults.push(`${text} ${fault}`)), faults };
}

function readWhole(texts: readonly string[]): Read {
  const faults: string[] = [];
  return { patterns: wholePatterns(texts, (_, fault, index) => faults.push(`${index} ${fault}`)), faults };
}

const numbered = (count: number, text: (n: number) => string): string =>
  Array.from({ length: count }, (_, n) => text(n)).join(',');

test('the same text gives the same pattern', () => {
  expect(read('app-.*').patterns[0]).toBe(read('app-.*').patterns[0]);
  expect(read('a,a, a').patterns).toHaveLength(1);
});

test('a plain name is literal; with a dot it is not, and matches more than itself', () => {
  expect(read('my-config').patterns[0]?.literal).toBe('my-config');
  expect(read('my.config').patterns[0]?.literal).toBeUndefined();
});

test('any text compiles or says why not; what is literal matches itself alone', () => {
  const texts = fc.oneof(fc.string(), fc.stringMatching(/^[-a-z0-9.*+?()[\]{}|\\^$]{0,20}$/));
  fc.assert(
    fc.property(texts, fc.string(), (text, name) => {
      const { patterns, faults } = read(text);
      expect(patterns.length > 0 || faults.length > 0).toBe(elements(text).length > 0);
      for (const pattern of patterns) {
        expect(typeof pattern.matches(name)).toBe('boolean');
        if (pattern.literal !== undefined) expect(pattern.matches(name)).toBe(name === pattern.literal);
      }
    }),
    { numRuns: 500 },
  );
});

test('the elements of a list are what is between commas, without blanks', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[ ,ab\t]{0,20}$/), (list) => {
      expect(elements(list)).toEqual(list.split(',').flatMap((element) => element.trim() || []));
    }),
  );
});

test('an expression that would hang a backtracking engine answers', () => {
  expect(read('(a+)+b').patterns[0]?.matches('a'.repeat(250))).toBe(false);
});

test('a long list finds a name as a short one does', () => {
  const { patterns } = read(`${numbered(1000, (n) => `name-${n}`)},app-.*`);
  expect(['name-0', 'name-999', 'app-1', 'name-1000', ''].map((name) => matchesOne(patterns, name))).toEqual([
    ...[true, true, true, false, false],
  ]);
});

const LIMITS = {
  element: 'is not read: an element may have at most 1,000 characters',
  list: 'is not read: a list with expressions may have at most 65,536 characters',
  expression: 'is not read: an expression may have at most 4,096 instructions',
  together: 'is not read: the expressions of a list may have at most 65,536 instructions together',
};

test.each([
  ['of 10,000 brackets', '['.repeat(10_000), LIMITS.element],
  ['of 60,000 brackets', '['.repeat(60_000), LIMITS.element],
  ['of 30,000 stars', `${'a*'.repeat(30_000)}!`, LIMITS.element],
  ['that is a name of 1,001 characters', 'a'.repeat(1001), LIMITS.element],
  ['of 58,000 instructions', '[a-z]{1000}'.repeat(58), LIMITS.expression],
  ['with repetitions in repetitions', '((ab{10}){10}){10}'.repeat(3), LIMITS.expression],
  ['with choices', '(a?){600}', LIMITS.expression],
  ['with classes of Unicode', '(?i)[C-𞥂]'.repeat(90), LIMITS.expression],
])('an element %s is not read, and its neighbours are', (_, element, limit) => {
  const { patterns, faults } = read(`plain,app-.*,${element},last`);
  expect(patterns.map(({ text }) => text)).toEqual(['plain', 'app-.*', 'last']);
  expect(faults).toEqual([`${element} ${limit}`]);
  const whole = readWhole(['plain', 'app-.*', element, 'last']);
  expect(whole.patterns.map(({ text }) => text)).toEqual(['plain', 'app-.*', 'last']);
  expect(whole.faults).toEqual([`2 ${limit}`]);
});

test('of a list over 64 KiB the names count, with dots too, and no expression is compiled', () => {
  const list = numbered(9000, (n) => `my.name-${n}`);
  const { patterns, faults } = read(`${list},app-.*,(`);
  expect(list.length).toBeGreaterThan(65_536);
  expect(patterns).toHaveLength(9000);
  expect(patterns.every(({ literal }) => literal !== undefined)).toBe(true);
  expect(faults).toEqual([`app-.* ${LIMITS.list}`, `( ${LIMITS.list}`]);
  expect(readWhole([...list.split(','), 'app-.*']).faults).toEqual([`9000 ${LIMITS.list}`]);
});

test('the expressions of a list together: the first ones count', () => {
  const { patterns, faults } = read(`${numbered(100, (n) => `x${n}a{1000}`)},plain`);
  expect(patterns.map(({ text }) => text)).toEqual([...Array.from({ length: 59 }, (_, n) => `x${n}a{1000}`), 'plain']);
  expect(new Set(faults.map((fault) => fault.replace(/^\S+ /, '')))).toEqual(new Set([LIMITS.together]));
});

test('groups in groups take no stack', () => {
  expect(read(`${'('.repeat(495)}a${')'.repeat(495)}`).patterns[0]?.matches('a')).toBe(true);
  expect(read('('.repeat(1000)).faults).toHaveLength(1);
});

test('what people write is never too large', () => {
  const usual = ['app-.*', '[a-z0-9-]{63}', 'app-(one|two|three)-[a-z]{10}', '.*'];
  const list = Array.from({ length: 50 }, (_, n) => usual.map((each) => `team-${n}-${each}`)).flat();
  expect(read(list.join(',')).faults).toEqual([]);
  const names = Array.from({ length: 80 }, (_, n) => `config-${n}`).join('|');
  const choice = read(`(${names})`);
  expect([choice.faults, choice.patterns[0]?.matches('config-79')]).toEqual([[], true]);
});

test('however many texts there are, what is kept is bounded', () => {
  const { compiled } = expressionCosts();
  for (let edit = 0; edit < 10; edit += 1) {
    for (const pattern of read(numbered(500, (n) => `[n]ame-${edit}-${n}.`)).patterns) pattern.matches('name-1');
  }
  for (let edit = 0; edit < 70; edit += 1) read(`[x]${edit}${'a{1000}'.repeat(3)}`).patterns[0]?.matches('x1');
  expect(keptBytes()).toBeLessThanOrEqual(1_048_576);
  expect(expressionCosts().compiled - compiled).toBeGreaterThan(262_144);
  expect(expressionCosts().kept).toBeLessThanOrEqual(262_144);
});

test('to read a list compiles nothing, and a name that begins otherwise is not matched', () => {
  const before = expressionCosts();
  const { patterns } = read('lazy-.*,lazy-[a-f]{8},(?:lazy)?');
  expect(patterns).toHaveLength(3);
  expect(patterns.slice(0, 2).map((pattern) => pattern.matches('other'))).toEqual([false, false]);
  expect(expressionCosts()).toEqual(before);
  expect(patterns[0]?.matches('lazy-1')).toBe(true);
  expect(expressionCosts().compiled - before.compiled).toBe(patterns[0]?.size);
});

test('a name is matched once, however many patterns with the same expression ask', () => {
  const { patterns } = read('[o]nce,(?:o)nce');
  const before = expressionCosts().matched;
  for (let n = 0; n < 100; n += 1) {
    expect(patterns.map((pattern) => pattern.matches('once'))).toEqual([true, true]);
    expect(patterns.map((pattern) => pattern.matches('twice'))).toEqual([false, false]);
  }
  expect(expressionCosts().matched - before).toBe(4);
});

test('expressions mean what RE2 makes of the text with its anchors', () => {
  const pieces = [
    'a',
    'b',
    '-',
    '.',
    '*',
    '+',
    '?',
    '|',
    '^',
    '$',
    '(',
    ')',
    '(?:',
    '(?i)',
    '(?m)',
    '{0}',
    '{1,2}',
    '{2}',
    '[ab]',
    '\\b',
    '\\Qa',
    '\\E',
  ];
  const texts = fc.array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 7 }).map((all) => all.join(''));
  fc.assert(
    fc.property(texts, fc.stringMatching(/^[abA-]{0,5}$/), (text, name) => {
      const [search] = text.includes(',') ? [] : read(text).patterns;
      if (search?.expression !== undefined) expect(search.matches(name)).toBe(RE2JS.compile(`^${text}$`).test(name));
      const [whole] = readWhole([text]).patterns;
      if (whole?.expression !== undefined) expect(whole.matches(name)).toBe(RE2JS.compile(text).testExact(name));
    }),
    { numRuns: rounds(2000, 100_000) },
  );
});
