import { readCommandLine } from '../../config/command-line.ts';
import { nearest } from '../../config/nearest.ts';
import { parseBool } from '../../domain/text/parse-bool.ts';
import { OWN_FLAGS } from '../own-flags.ts';

/** What `attune sandbox` was asked for. */
export interface SandboxRequest {
  readonly command: string;
  readonly operands: readonly string[];
  readonly name: string;
  readonly nodes: number;
  readonly apiOnly: boolean;
  readonly keep: boolean;
  readonly binaries: string | undefined;
  /** The names of the flags on the command line. */
  readonly given: ReadonlySet<string>;
}

const FLAGS = new Map(OWN_FLAGS.sandbox.map((flag) => [flag.name, { bare: 'bare' in flag }]));

/** How many operands each command takes. `pods` is the pod runner, which `up` starts. */
const OPERANDS: Readonly<Record<string, number>> = {
  help: Number.POSITIVE_INFINITY,
  up: 0,
  down: 0,
  status: 0,
  env: 0,
  logs: 1,
  kubectl: Number.POSITIVE_INFINITY,
  binaries: Number.POSITIVE_INFINITY,
  redis: 0,
  pods: 0,
};

/** The request of a command line, or a list of its problems. */
export function parseSandboxRequest(argv: readonly string[]): SandboxRequest | readonly string[] {
  // What follows the word kubectl is passed on to kubectl.
  const at = argv.indexOf('kubectl');
  const own = at === -1 ? argv : argv.slice(0, at + 1);
  const passed = at === -1 ? [] : argv.slice(at + 1);
  const { given, positional, help, problems } = readCommandLine(own, FLAGS);
  const [command = 'help', ...words] = positional;
  const value = (flag: string): string | undefined => given.get(flag)?.at(-1);
  const apiOnly = parseBool(value('api-only') ?? 'false');
  const keep = parseBool(value('keep') ?? 'false');
  const nodes = value('nodes') ?? '1';
  const wrong = [...problems, ...wrongOperands(command, words)];
  if (apiOnly === undefined) wrong.push('--api-only must be true or false');
  if (keep === undefined) wrong.push('--keep must be true or false');
  if (!/^\d+$/.test(nodes)) wrong.push(`--nodes must be a number like 3, not "${nodes}"`);
  if (apiOnly && given.has('nodes')) wrong.push('--api-only starts no nodes: leave out one of the two');
  if (wrong.length > 0) return wrong;
  return {
    command: help ? 'help' : command,
    operands: [...words, ...passed],
    name: value('name') ?? 'default',
    nodes: Number(nodes),
    apiOnly: apiOnly ?? false,
    keep: keep ?? false,
    binaries: value('binaries'),
    given: new Set(given.keys()),
  };
}

function wrongOperands(command: string, words: readonly string[]): readonly string[] {
  if (!Object.hasOwn(OPERANDS, command)) {
    const guess = nearest(command, Object.keys(OPERANDS));
    return [`"${command}" is not a command${guess ? `, did you mean ${guess}?` : ''}`];
  }
  const most = OPERANDS[command] ?? 0;
  if (words.length <= most) return [];
  // `down review` must not end the sandbox `default` instead of `review`.
  if (most === 0) return [`${command} takes no "${words[0]}", did you mean --name ${words[0]}?`];
  return [`${command} takes one part at a time`];
}
