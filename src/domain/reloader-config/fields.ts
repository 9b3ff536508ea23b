import { quote } from '../text/quote.ts';
import type { ConfigProblem } from './config.ts';

// An object of the size that the server takes could have half a million.
const MOST_PROBLEMS = 1000;

/** Where the parsers leave what they cannot use. */
export class Problems {
  readonly #found: ConfigProblem[] = [];
  #more = 0;

  push(problem: ConfigProblem): void {
    if (this.#found.length < MOST_PROBLEMS) this.#found.push(problem);
    else this.#more += 1;
  }

  list(): readonly ConfigProblem[] {
    return this.#more === 0 ? this.#found : [...this.#found, { path: 'spec', message: `${this.#more} more problems` }];
  }
}

export const isGiven = (value: unknown): boolean => value !== undefined && value !== null;

/** A value as shown to people, however large or deep it is. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return quote(value);
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' && value !== null ? 'an object' : String(value);
}

/** The elements of a list that may be missing. */
export function listAt(value: unknown, path: string, problems: Problems): readonly unknown[] {
  if (Array.isArray(value)) return value;
  if (isGiven(value)) problems.push({ path, message: 'must be a list' });
  return [];
}

/** Undefined if it is missing. `careful`: what counts in place of a value that cannot be read, so that less is reloaded. */
export function switchAt(value: unknown, path: string, problems: Problems, careful: boolean): boolean | undefined {
  if (typeof value === 'boolean' || !isGiven(value)) return value as boolean | undefined;
  problems.push({ path, message: `must be true or false, not ${shown(value)}` });
  return careful;
}
