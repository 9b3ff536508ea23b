import { readCommandLine } from '../config/command-line.ts';
import { parseBool } from '../domain/text/parse-bool.ts';
import { ALL_OWN_FLAGS, knownFlags, withLongNames } from './own-flags.ts';

const KNOWN = knownFlags(ALL_OWN_FLAGS);

/** The first word that is neither a flag nor a flag's value, and the command line without it. */
export function commandWord(argv: readonly string[]) {
  const { wordsAt } = readCommandLine(withLongNames(argv, ALL_OWN_FLAGS), KNOWN);
  const at = wordsAt.find((index) => !isStrayValue(argv, index));
  if (at === undefined) return undefined;
  return { word: argv[at] ?? '', rest: argv.toSpliced(at, 1), isFirst: at === 0 };
}

/** `--enable-ha true`: pflag sets the flag and ignores the word after it, and manifests are written that way. */
function isStrayValue(argv: readonly string[], index: number): boolean {
  const before = argv[index - 1] ?? '';
  return parseBool(argv[index] ?? '') !== undefined && before.startsWith('--') && !before.includes('=');
}
