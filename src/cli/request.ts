import { readCommandLine } from '../config/command-line.ts';
import { knownFlags, type OwnFlag, withLongNames } from './own-flags.ts';

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

// Has no effect on commands that only read, and would require variables that only a pod has.
const WITHOUT_MEANING = new Set(['enable-ha']);

/** Reads the command line as the controller does, so that its flags can be pasted in; all problems at once. */
export function readRequest(argv: readonly string[], flags: readonly OwnFlag[]): Request {
  const { given, positional, help, problems } = readCommandLine(withLongNames(argv, flags), knownFlags(flags));
  const own = new Map<string, string>();
  const controller: string[] = [];
  for (const [name, values] of given) {
    if (flags.some((flag) => flag.name === name)) own.set(name, values.at(-1) ?? '');
    else if (!WITHOUT_MEANING.has(name)) controller.push(...values.map((value) => `--${name}=${value}`));
  }
  return { operands: positional, own, controller, help, problems };
}
