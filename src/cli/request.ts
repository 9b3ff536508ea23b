import { readCommandLine } from '../config/command-line.ts';
import { OPTION_ROWS } from '../config/options.ts';

/** A flag of one command, beside all flags of the controller. */
export interface OwnFlag {
  readonly name: string;
  readonly short?: string;
  readonly bare?: true;
}

/** What a command that looks at a cluster was asked for. */
export interface Request {
  readonly operands: readonly string[];
  /** The last value of each of the command's own flags. */
  readonly own: ReadonlyMap<string, string>;
  /** The controller's flags that were given, as one would type them. */
  readonly controller: readonly string[];
  readonly help: boolean;
  readonly problems: readonly string[];
}

// Means nothing to a command that only looks, and would ask for variables that only a pod has.
const WITHOUT_MEANING = new Set(['enable-ha']);

/** Reads by the controller's own grammar, so that its flags can be pasted in; all problems at once. */
export function readRequest(argv: readonly string[], flags: readonly OwnFlag[]): Request {
  const known = new Map<string, { readonly bare: boolean }>();
  for (const [, { flag, type }] of OPTION_ROWS) if (flag !== undefined) known.set(flag, { bare: type === 'bool' });
  for (const { name, bare = false } of flags) known.set(name, { bare });
  const { given, positional, help, problems } = readCommandLine(withLongNames(argv, flags), known);
  const own = new Map<string, string>();
  const controller: string[] = [];
  for (const [name, values] of given) {
    if (flags.some((flag) => flag.name === name)) own.set(name, values.at(-1) ?? '');
    else if (!WITHOUT_MEANING.has(name)) controller.push(...values.map((value) => `--${name}=${value}`));
  }
  return { operands: positional, own, controller, help, problems };
}

/** `-n shop`, `-n=shop` and `-nshop`, as kubectl takes them. */
function withLongNames(argv: readonly string[], flags: readonly OwnFlag[]): readonly string[] {
  const end = argv.indexOf('--');
  return argv.map((word, at) => {
    const flag = flags.find(({ short }) => short !== undefined && word.startsWith(`-${short}`));
    if (!flag || (end >= 0 && at > end)) return word;
    const value = word.slice(2).replace(/^=/, '');
    return word.length === 2 ? `--${flag.name}` : `--${flag.name}=${value}`;
  });
}
