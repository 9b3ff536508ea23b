import { RE2JS } from 're2js';

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
  const pattern = METACHARACTERS.test(text) ? compile(text) : plain(text);
  if (cache.size >= CAPACITY) cache.clear();
  cache.set(text, pattern);
  return pattern;
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

/** Stakater puts `^` and `$` around the text without a group and searches for that: `foo|bar` means `^foo` or `bar$`. */
function compile(text: string): NamePattern {
  try {
    const expression = RE2JS.compile(`^${text}$`);
    return { text, matches: (name) => expression.test(name), literal: undefined, error: undefined };
  } catch (error) {
    return { text, matches: undefined, literal: undefined, error: reasonOf(error) };
  }
}

/** RE2's message quotes the text with our `^` and `$` in it; only its first clause is about what the user wrote. */
function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : '';
  return /^error parsing regexp: ([^:`]+)/.exec(message)?.[1] ?? 'cannot be compiled';
}
