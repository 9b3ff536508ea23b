import { RE2Set } from 're2js';
import { BoundedCache } from '../text/bounded-cache.ts';
import { instructionsIn, sizeOf } from './expression-size.ts';
import { KnownAnswers } from './known-answers.ts';
import type { NamePattern } from './name-pattern.ts';

/**
 * `search`: as Stakater reads it, which puts `^` and `$` around the text without a group: `foo|bar` means `^foo` or `bar$`.
 * `whole`: the whole name has to match.
 */
export type Meaning = 'search' | 'whole';

/** Of all expressions that workloads of a namespace ask for; what several of them ask for counts once. */
export const MOST_PER_NAMESPACE = 262_144;

/**
 * Room for all expressions of one namespace: what is used is compiled again when it is not there. Measured: at most 27 MB, and
 * 13 MB for the states that matching finds.
 */
const programs = new BoundedCache<RE2Set>(MOST_PER_NAMESPACE);
/** What a compiled expression weighs in this cache beside its size: so 262,144 stay below the memory above. */
const OVERHEAD = 50;
/** Bytes for the states of an expression, for each of its instructions. RE2JS would take 8 MB for an expression. */
const STATES_PER_INSTRUCTION = 48;

const answers = new KnownAnswers();
let compiled = 0;
let matched = 0;

/** An RE2 expression over names. Compiled only when a name is matched: by then its namespace has found room for it. */
export class Expression implements NamePattern {
  readonly text: string;
  readonly literal = undefined;
  readonly expression: string;
  readonly instructions: number;
  readonly size: number;
  readonly #meaning: Meaning;
  readonly #prefix: string;

  /** `key`: one for each meaning and text, see `keyOf`. */
  constructor(key: string, meaning: Meaning) {
    this.expression = key;
    // Part of the key: as part of the annotation it would keep the whole annotation in memory.
    this.text = key.slice(meaning.length + 1);
    this.instructions = instructionsIn(this.text);
    this.size = sizeOf(this.text);
    this.#meaning = meaning;
    this.#prefix = prefixOf(this.text);
  }

  static keyOf(text: string, meaning: Meaning): string {
    return `${meaning} ${text}`;
  }

  matches(name: string): boolean {
    return name.startsWith(this.#prefix) && answers.answer(this.expression, name, () => this.#match(name));
  }

  /** Why RE2 does not take it; undefined: it does. This compiles nothing. */
  syntaxError(): string | undefined {
    try {
      this.#parse();
      return undefined;
    } catch (error) {
      return reasonOf(error);
    }
  }

  #match(name: string): boolean {
    matched += 1;
    return this.#program().match(name).length > 0;
  }

  #program(): RE2Set {
    const known = programs.get(this.expression);
    if (known !== undefined) return known;
    compiled += this.size;
    const program = this.#parse();
    program.compile();
    // The parsed text takes as much memory again.
    program.regexps = [];
    programs.set(this.expression, program, this.size + OVERHEAD);
    return program;
  }

  /** A set of one expression: only a set takes a limit for the memory of its states. */
  #parse(): RE2Set {
    const set = new RE2Set(this.#anchor(), 0, STATES_PER_INSTRUCTION * this.size);
    set.add(this.#meaning === 'search' ? `^${this.text}$` : this.text);
    return set;
  }

  /** Where `^` holds for the whole text, RE2 gives up at the first wrong letter. A repetition at the beginning repeats `^`. */
  #anchor(): number {
    if (this.#meaning === 'whole') return RE2Set.ANCHOR_BOTH;
    return /^[\w.[-]/.test(this.text) && !this.text.includes('|') ? RE2Set.ANCHOR_START : RE2Set.UNANCHORED;
  }
}

/** With what each name begins that the expression matches. */
function prefixOf(text: string): string {
  if (text.includes('|')) return '';
  const [letters = ''] = /^[a-zA-Z0-9-]*/.exec(text) ?? [];
  // A repetition behind it may leave out the last letter.
  return letters.length === text.length ? letters : letters.slice(0, -1);
}

/** RE2's message quotes the text with our `^` and `$` in it; only its first clause is about what the user wrote. */
function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : '';
  return /^error parsing regexp: ([^:`]+)/.exec(message)?.[1] ?? 'cannot be compiled';
}

/** What expressions cost so far: instructions that are kept; instructions that were compiled and names that were matched. */
export const expressionCosts = (): Readonly<Record<'kept' | 'compiled' | 'matched', number>> => ({
  kept: programs.weight,
  compiled,
  matched,
});
