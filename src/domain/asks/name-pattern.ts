import { RE2JS } from 're2js';
import type { NamePattern } from './intent.ts';

const METACHARACTERS = /[\\.+*?()|[\]{}^$]/;

/** Thousands of workloads carry the same few texts. When full the memory starts anew: it is only a memory. */
const CAPACITY = 4096;
const known = new Map<string, NamePattern>();

/** The pattern for one element; the same text gives the same pattern, compiled once. */
export function namePattern(text: string): NamePattern {
  const memory = known.get(text);
  if (memory !== undefined) return memory;
  const pattern = METACHARACTERS.test(text) ? compile(text) : plain(text);
  if (known.size >= CAPACITY) known.clear();
  known.set(text, pattern);
  return pattern;
}

function plain(text: string): NamePattern {
  return { text, matches: (name) => name === text, literal: text, error: undefined };
}

/** Stakater: `^` and `$` are glued on without a group, and then searched; so `foo|bar` means `^foo` or `bar$`. */
function compile(text: string): NamePattern {
  try {
    const expression = RE2JS.compile(`^${text}$`);
    return { text, matches: (name) => expression.test(name), literal: undefined, error: undefined };
  } catch (error) {
    return { text, matches: undefined, literal: undefined, error: reasonOf(error) };
  }
}

/** RE2 quotes the text with our `^` and `$` in it; only its first clause is about what the user wrote. */
function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : '';
  return /^error parsing regexp: ([^:`]+)/.exec(message)?.[1] ?? 'cannot be compiled';
}
