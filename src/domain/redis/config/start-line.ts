import { quotedWord } from '../start-file.ts';

/** A line that exists in the start file only, and of which there may be several: it is no parameter. */
export type StartLine =
  | { readonly directive: 'rename-command'; readonly command: string; readonly to: string }
  | { readonly directive: 'loadmodule'; readonly file: string; readonly words: readonly string[] };

export const isLineDirective = (directive: string): directive is StartLine['directive'] =>
  directive === 'rename-command' || directive === 'loadmodule';

/** Reads what follows the directive; a text says what is wrong with it. */
export function parseStartLine(directive: StartLine['directive'], argument: string, value: string): StartLine | string {
  const given = wordsIn(argument);
  const rest = wordsIn(value);
  if (!given || !rest) return 'its quotes are not balanced';
  if (directive === 'loadmodule') {
    const [file, ...words] = [...given, ...rest];
    return file ? { directive, file, words } : 'it needs the path of a module';
  }
  // An empty value is the usual way to take a command away.
  const all = value.trim() === '' ? [...given, ''] : [...given, ...rest];
  const [command, to] = all;
  if (all.length !== 2 || !command || to === undefined)
    return 'it needs a command and its new name: "rename-command FLUSHALL": "" takes FLUSHALL away';
  return { directive, command: command.toLowerCase(), to };
}

/** What there can be only one line of. */
export const lineName = (line: StartLine): string =>
  line.directive === 'loadmodule' ? `loadmodule ${line.file}` : `rename-command ${line.command}`;

/** All that follows the directive, in the words of a start file. */
export const lineText = (line: StartLine): string =>
  (line.directive === 'loadmodule' ? [line.file, ...line.words] : [line.command, line.to]).map(quotedWord).join(' ');

/** Splits as Redis does; undefined: a quote is left open. */
function wordsIn(text: string): readonly string[] | undefined {
  const words: string[] = [];
  let rest = text.trim();
  while (rest !== '') {
    const found = /^(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s"']+))(?:\s+|$)/.exec(rest);
    if (!found) return undefined;
    const [whole, double, single, plain = ''] = found;
    words.push((double ?? single)?.replace(/\\(.)/g, '$1') ?? plain);
    rest = rest.slice(whole.length);
  }
  return words;
}
