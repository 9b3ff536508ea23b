import { parseBool } from '../domain/text/parse-bool.ts';
import { nearest } from './nearest.ts';

/** What a command line says, before anybody looks at the values. */
export interface CommandLine {
  /** Flag name → every value given, in order. */
  readonly given: ReadonlyMap<string, readonly string[]>;
  readonly positional: readonly string[];
  /** The positions of the words that belong to no flag, up to `--`. */
  readonly wordsAt: readonly number[];
  readonly help: boolean;
  readonly problems: readonly string[];
}

/** By name, and whether a flag may stand without a value. */
export type KnownFlags = ReadonlyMap<string, { readonly bare: boolean }>;

interface Reading {
  readonly given: Map<string, string[]>;
  readonly positional: string[];
  readonly wordsAt: number[];
  readonly problems: string[];
  /** What is not read yet, the next word last, so that taking one is cheap. */
  readonly rest: string[];
  readonly flags: KnownFlags;
}

const HELP = 'help';

/**
 * Reads words by the grammar of pflag, as Stakater's manifests are written in it: `--flag=value`, `--flag value`, a bare
 * boolean takes no second word, `--` ends the flags, and other words are positional wherever they stand. Unlike pflag it
 * does not stop at the first problem.
 */
export function readCommandLine(argv: readonly string[], flags: KnownFlags): CommandLine {
  const reading: Reading = {
    given: new Map(),
    positional: [],
    wordsAt: [],
    problems: [],
    rest: argv.toReversed(),
    flags: new Map([...flags, [HELP, { bare: true }]]),
  };
  for (let word = reading.rest.pop(); word !== undefined; word = reading.rest.pop()) {
    if (word === '--') reading.positional.push(...reading.rest.splice(0).toReversed());
    else if (word.startsWith('--')) readLong(reading, word);
    else if (word.startsWith('-') && word.length > 1) readShort(reading, word);
    else {
      reading.positional.push(word);
      reading.wordsAt.push(argv.length - reading.rest.length - 1);
    }
  }
  const { given, positional, wordsAt, problems } = reading;
  const helps = (given.get(HELP) ?? []).map(parseBool);
  given.delete(HELP);
  if (helps.includes(undefined)) problems.push('--help must be true or false');
  return { given, positional, wordsAt, problems, help: helps.at(-1) ?? false };
}

function readLong(reading: Reading, word: string): void {
  const equals = word.indexOf('=');
  const name = word.slice(2, equals < 0 ? undefined : equals);
  if (name === '' || name.startsWith('-')) {
    reading.problems.push(`bad flag syntax: ${withoutValue(word)}`);
    return;
  }
  const flag = reading.flags.get(name);
  if (!flag) {
    reading.problems.push(`unknown flag: --${name}${hintFor(name, reading)}`);
    return;
  }
  const value = equals >= 0 ? word.slice(equals + 1) : flag.bare ? 'true' : reading.rest.pop();
  if (value === undefined) reading.problems.push(`flag needs an argument: --${name}`);
  else add(reading.given, name, value);
}

/** The only short flag is `-h`; several letters may share one dash, and `-h=false` has a value. */
function readShort(reading: Reading, word: string): void {
  const letters = word.slice(1);
  if (/^h+(=.|$)/.test(letters)) {
    const equals = letters.indexOf('=');
    add(reading.given, HELP, equals < 0 ? 'true' : letters.slice(equals + 1));
    return;
  }
  const unknown = letters.replace(/^h+/, '').charAt(0);
  const hint = hintFor(letters.split('=')[0] ?? '', reading);
  reading.problems.push(`unknown shorthand flag: '${unknown}' in ${withoutValue(word)}${hint}`);
}

function hintFor(name: string, { flags }: Reading): string {
  const candidate = nearest(name, flags.keys());
  return candidate === undefined ? '' : `, did you mean --${candidate}?`;
}

/** A value may be a credential, and problems are printed. */
const withoutValue = (word: string): string => word.slice(0, word.indexOf('=') + 1) || word;

function add(given: Map<string, string[]>, name: string, value: string): void {
  const values = given.get(name);
  if (values) values.push(value);
  else given.set(name, [value]);
}
