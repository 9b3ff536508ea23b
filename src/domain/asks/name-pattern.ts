import { indexOnce, WORTH_AN_INDEX } from '../index-once.ts';
import { BoundedCache } from '../text/bounded-cache.ts';
import { detached } from '../text/detached.ts';
import { isSubdomain } from '../text/subdomain.ts';
import { thousands } from '../text/thousands.ts';
import { Expression, type Meaning, MOST_PER_NAMESPACE } from './expression.ts';
import { SMALLEST } from './expression-size.ts';

/** One element of a named list. */
export interface NamePattern {
  /** As written, without surrounding blanks. */
  readonly text: string;
  readonly matches: (name: string) => boolean;
  /** Set when the pattern is a plain name, so that a reverse index can find it without trying. */
  readonly literal: string | undefined;
  /** Set when it is an expression. Patterns with the same one match the same names. */
  readonly expression: string | undefined;
  /** What the expression takes of the limits, see `sizeOf`; 0 for a plain name. */
  readonly size: number;
}

/** Why an element is not read. */
type Fault = string;

/** Called for each element that is not read. */
export type Refuse = (text: string, fault: Fault, index: number) => void;

/** No object has a name that is nearly as long. */
const LONGEST_ELEMENT = 1000;
/** A longer list can still name sources, by the thousand. */
const LONGEST_LIST = 65_536;
/** Of instructions. Measured: those of a full list compile in 0.1 s. A hundred usual expressions have 20,000. */
const MOST_PER_EXPRESSION = 4096;
const MOST_PER_LIST = 65_536;

const TOO_LONG: Fault = `is not read: an element may have at most ${thousands(LONGEST_ELEMENT)} characters`;
const IN_LONG_LIST: Fault = `is not read: a list with expressions may have at most ${thousands(LONGEST_LIST)} characters`;
const TOO_LARGE: Fault = `is not read: an expression may have at most ${thousands(MOST_PER_EXPRESSION)} instructions`;
const LIST_FULL: Fault = `is not read: the expressions of a list may have at most ${thousands(MOST_PER_LIST)} instructions together`;
export const NAMESPACE_FULL: Fault = `is not read: the expressions of all workloads in a namespace may have at most ${thousands(MOST_PER_NAMESPACE)} instructions together`;
const NAMELESS: Fault = 'matches nothing: no object can have this name';

const METACHARACTERS = /[\\.+*?()|[\]{}^$]/;

/** The patterns of a list in an annotation. */
export const patternsIn = (list: string, refuse: Refuse): readonly NamePattern[] =>
  readAll(elements(list), refuse, (text) => {
    if (!METACHARACTERS.test(text)) return 'name';
    if (list.length <= LONGEST_LIST) return 'search';
    return isSubdomain(text) ? 'name' : { fault: IN_LONG_LIST };
  });

/** The names in a list in an annotation, letter by letter. */
export function namesIn(list: string, refuse: Refuse): ReadonlySet<string> {
  const names = new Set<string>();
  for (const [index, text] of elements(list).entries()) {
    if (text.length > LONGEST_ELEMENT) refuse(text, TOO_LONG, index);
    else names.add(text);
  }
  return names;
}

/** The patterns of names that are given one by one: what can be an object's name means this one. */
export function wholePatterns(texts: readonly string[], refuse: Refuse): readonly NamePattern[] {
  const length = texts.reduce((sum, text) => sum + text.length, 0);
  return readAll(texts, refuse, (text) => {
    if (isSubdomain(text)) return 'name';
    if (!METACHARACTERS.test(text)) return { fault: NAMELESS };
    return length <= LONGEST_LIST ? 'whole' : { fault: IN_LONG_LIST };
  });
}

/** A tenant who may edit one workload must not take the time and the memory of all others. */
function readAll(
  texts: readonly string[],
  refuse: Refuse,
  meaningOf: (text: string) => 'name' | Meaning | Faulty,
): readonly NamePattern[] {
  let room = MOST_PER_LIST;
  const patterns = new Map<string, NamePattern | Faulty>();
  for (const [index, text] of texts.entries()) {
    if (patterns.has(text)) continue;
    const pattern = read(text, text.length > LONGEST_ELEMENT ? { fault: TOO_LONG } : meaningOf(text), room);
    if ('fault' in pattern) refuse(text, pattern.fault, index);
    else room -= pattern.size;
    patterns.set(text, pattern);
  }
  return [...patterns.values()].filter((pattern): pattern is NamePattern => !('fault' in pattern));
}

function read(text: string, meaning: 'name' | Meaning | Faulty, room: number): NamePattern | Faulty {
  if (typeof meaning !== 'string') return meaning;
  return meaning === 'name' ? exactName(text) : expressionOf(text, meaning, room);
}

interface Faulty {
  readonly fault: Fault;
}

/** A plain name. There can be thousands in one list, so each is as small as can be. */
class PlainName implements NamePattern {
  readonly text: string;
  readonly expression = undefined;
  readonly size = 0;

  constructor(text: string) {
    this.text = text;
  }

  get literal(): string {
    return this.text;
  }

  matches(name: string): boolean {
    return name === this.text;
  }
}

/** The pattern for this very name, whatever signs are in it. */
export const exactName = (name: string): NamePattern => new PlainName(name);

/** The one pattern for a source without a name. */
export const NO_NAME: NamePattern = exactName('');

/** Thousands of workloads carry the same few expressions. In bytes. */
const expressions = new BoundedCache<Expression>(1_048_576);
/** What an expression takes in the cache beside its text. */
const OVERHEAD = 256;

/** The same text gives the same pattern. */
function expressionOf(text: string, meaning: Meaning, room: number): NamePattern | Faulty {
  // A list can have tens of thousands more.
  if (room < SMALLEST) return { fault: LIST_FULL };
  const key = Expression.keyOf(text, meaning);
  const known = expressions.get(key);
  const expression = known ?? new Expression(key, meaning);
  if (expression.instructions > MOST_PER_EXPRESSION) return { fault: TOO_LARGE };
  if (expression.size > room) return { fault: LIST_FULL };
  if (known !== undefined) return known;
  const fault = expression.syntaxError();
  if (fault !== undefined) return { fault: `is no RE2 regular expression: ${fault}` };
  expressions.set(key, expression, OVERHEAD + 2 * key.length);
  return expression;
}

/** The bytes of expressions that are kept beside those of workloads. */
export const keptBytes = (): number => expressions.weight;

/** The elements of a list, without blanks around them; empty ones are left out. */
export function elements(text: string): readonly string[] {
  const found: string[] = [];
  for (const part of text.split(',')) {
    const element = part.trim();
    if (element !== '') found.push(detached(element));
  }
  return found;
}

const lookupIn = indexOnce((patterns: readonly NamePattern[]) => ({
  names: new Set(patterns.flatMap(({ literal }) => literal ?? [])),
  others: patterns.filter(({ expression }) => expression !== undefined),
}));

export function matchesOne(patterns: readonly NamePattern[], name: string): boolean {
  if (name === '') return patterns.includes(NO_NAME);
  if (patterns.length < WORTH_AN_INDEX) return patterns.some((pattern) => pattern.matches(name));
  const { names, others } = lookupIn(patterns);
  return names.has(name) || others.some((pattern) => pattern.matches(name));
}
