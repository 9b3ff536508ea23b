import { RE2JS } from 're2js';
import { isSubdomain } from '../text/subdomain.ts';

/** One element of a named list. */
export interface NamePattern {
  /** As written, without surrounding blanks. */
  readonly text: string;
  /** Whether a name matches; undefined: the text does not compile. */
  readonly matches: ((name: string) => boolean) | undefined;
  /** Set when the pattern is a plain name, so that a reverse index can find it without trying. */
  readonly literal: string | undefined;
  /** What is wrong with a text that does not compile. */
  readonly error: string | undefined;
}

/** The one pattern for a source without a name. */
export const NO_NAME: NamePattern = plain('');

const METACHARACTERS = /[\\.+*?()|[\]{}^$]/;

/** Thousands of workloads carry the same few texts. A full cache is simply emptied. */
const CAPACITY = 4096;
const cache = new Map<string, NamePattern>();

/** The pattern for one element; the same text gives the same pattern, compiled once. */
export function namePattern(text: string): NamePattern {
  const cached = cache.get(text);
  if (cached !== undefined) return cached;
  const pattern = METACHARACTERS.test(text) ? expression(text) : plain(text);
  if (cache.size >= CAPACITY) cache.clear();
  cache.set(text, pattern);
  return pattern;
}

/** The pattern for this very name, whatever signs are in it. */
export const exactName = (name: string): NamePattern => (METACHARACTERS.test(name) ? plain(name) : namePattern(name));

// Measured: as many instructions as this compile in a fifth of a second, to 18 MB. A hundred usual expressions have 2,000.
const MAX_SIZE = 65_536;

/**
 * The patterns of a list. What makes its expressions too large, all of them together, is not compiled: who may edit one
 * workload must not take the time and the memory of all others.
 */
export const patternsIn = (text: string): readonly NamePattern[] => withinRoom(elements(text), namePattern);

/**
 * The patterns of names that are given one by one. What can be an object's name means this one; anything else is an
 * expression that the whole name has to match. Too large: as above.
 */
export const wholePatterns = (texts: readonly string[]): readonly NamePattern[] =>
  withinRoom(texts, (text) => {
    if (isSubdomain(text)) return exactName(text);
    return METACHARACTERS.test(text) ? wholeExpression(text) : unusable(text, 'no object can have this name');
  });

function withinRoom(texts: readonly string[], pattern: (text: string) => NamePattern): readonly NamePattern[] {
  let room = MAX_SIZE;
  return texts.map((text) => {
    const size = METACHARACTERS.test(text) ? sizeOf(text) : 0;
    if (size > room) return unusable(text, 'too large');
    room -= size;
    return pattern(text);
  });
}

const REPETITION = /\{(\d+)(?:,(\d*))?\}/g;
const CHARACTER_CLASS = /\[[^\]]*\]+/g;
const MOST_TIMES = 1000;

/** About as many instructions as it is compiled to. RE2 lets repetitions, also one in another, make a thousand of one. */
function sizeOf(text: string): number {
  const { length } = text.replace(REPETITION, '').replace(CHARACTER_CLASS, 'c');
  let times = 1;
  for (const [, least, most] of text.matchAll(REPETITION)) times *= Math.max(1, Number(most || least));
  return length * Math.min(times, MOST_TIMES);
}

/** The elements of a list, without blanks around them; empty ones are left out. */
export function elements(text: string): readonly string[] {
  if (text === '') return [];
  return text.split(',').flatMap((element) => element.trim() || []);
}

export const matchesOne = (patterns: readonly NamePattern[], name: string): boolean =>
  patterns.some((pattern) => (name === '' ? pattern === NO_NAME : pattern.matches?.(name) === true));

function plain(text: string): NamePattern {
  return { text, matches: (name) => name === text, literal: text, error: undefined };
}

const unusable = (text: string, error: string): NamePattern => ({
  text,
  matches: undefined,
  literal: undefined,
  error,
});

/** Stakater puts `^` and `$` around the text without a group and searches for that: `foo|bar` means `^foo` or `bar$`. */
const expression = (text: string): NamePattern => matcher(text, `^${text}$`, (program, name) => program.test(name));

const wholeExpression = (text: string): NamePattern => matcher(text, text, (program, name) => program.testExact(name));

function matcher(text: string, expr: string, test: (program: RE2JS, name: string) => boolean): NamePattern {
  try {
    compiled(expr);
    return { text, matches: (name) => test(compiled(expr), name), literal: undefined, error: undefined };
  } catch (error) {
    return unusable(text, reasonOf(error));
  }
}

// So much that there is room for two of the largest lists: what is used is compiled again when it is not there.
const COMPILED_SIZE = 2 * MAX_SIZE;
const programs = new Map<string, RE2JS>();
let programsSize = 0;

function compiled(expr: string): RE2JS {
  const known = programs.get(expr);
  if (known !== undefined) return known;
  const program = RE2JS.compile(expr);
  const size = sizeOf(expr);
  if (programsSize + size > COMPILED_SIZE) {
    programs.clear();
    programsSize = 0;
  }
  programs.set(expr, program);
  programsSize += size;
  return program;
}

/** RE2's message quotes the text with our `^` and `$` in it; only its first clause is about what the user wrote. */
function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : '';
  return /^error parsing regexp: ([^:`]+)/.exec(message)?.[1] ?? 'cannot be compiled';
}
