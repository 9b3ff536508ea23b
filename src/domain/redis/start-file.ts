import type { Problem } from './cluster-view.ts';

/** Directives that cannot be written into a start file; `problems` names each of them, never a value. */
export class StartFileError extends Error {
  override readonly name = 'StartFileError';
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    super(problems.map(({ where, what }) => `${where}: ${what}`).join('; '));
    this.problems = problems;
  }
}

/**
 * The text of a start file (redis.conf): one line for each directive, in their order, where a later one wins. Values are
 * those of CONFIG SET and mean the same here, byte for byte. {@link RAW} has the exceptions.
 */
export function renderStartFile(directives: readonly (readonly [key: string, value: string])[]): string {
  const problems = directives.flatMap(([key, value]) => problemOf(key, value) ?? []);
  if (problems.length > 0) throw new StartFileError(problems);
  return directives.flatMap(([key, value]) => linesOf(key, value).map((line) => `${line}\n`)).join('');
}

/** Directives that CONFIG SET does not know: their value is several words, quoted as people write them in redis.conf. */
const RAW: ReadonlySet<string> = new Set(['loadmodule', 'rename-command', 'user']);

/** Why a directive cannot be in a start file, if so. */
export function problemOf(key: string, value: string): Problem | undefined {
  const where = printable(key);
  if (!/^[a-z0-9][\w.-]*$/i.test(key)) {
    return { where, what: 'is no name of a Redis directive: expected letters, digits and - _ . without blanks' };
  }
  if (value.includes('\0')) return { where, what: 'its value has a NUL byte, which Redis would take for its end' };
  if (RAW.has(key.toLowerCase()) && /[\r\n]/.test(value)) {
    return { where, what: 'its value has a line break: expected words on one line' };
  }
  // Redis unquotes it once more in a file, and not in CONFIG SET: there "" is nonsense, here it would be no save points.
  if (key.toLowerCase() === 'save' && /["']/.test(value)) {
    return { where, what: 'its value has quotes: expected pairs of numbers like 900 1 300 10, or nothing at all' };
  }
  return undefined;
}

function linesOf(key: string, value: string): readonly string[] {
  const name = key.toLowerCase();
  if (RAW.has(name)) return [`${key} ${value}`];
  // CONFIG SET takes an empty list of limits and changes none; in a file it is an error.
  if (name === 'client-output-buffer-limit' && value === '') return [];
  // Where Redis takes several words it splits a quoted one itself.
  const line = `${key} ${quotedWord(value)}`;
  // In a file the save points of several lines add up, and to those of Redis itself; CONFIG SET replaces them.
  return name === 'save' && value !== '' ? [`${key} ""`, line] : [line];
}

/** One word of a line of redis.conf, whatever is in it. */
export function quotedWord(text: string): string {
  if (/^[\w./:@%+,*-]+$/.test(text)) return text;
  // Bytes beyond ASCII stay as they are: Redis reads them so within quotes.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones that would end or change a line
  return `"${text.replace(/["\\\u0000-\u001f\u007f]/g, escaped)}"`;
}

const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t', '"': '\\"', '\\': '\\\\' };

const escaped = (char: string): string => SHORT[char] ?? `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`;

const LONGEST_NAME = 100;

/** A key as people may read it, be it megabytes of line breaks. */
const printable = (key: string): string =>
  /^[\w.-]+$/.test(key) && key.length <= LONGEST_NAME ? key : JSON.stringify(key.slice(0, LONGEST_NAME));
