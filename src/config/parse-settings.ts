import { type CommandLine, readCommandLine } from './command-line.ts';
import { type Finding, quote } from './finding.ts';
import { noticesAbout } from './notices.ts';
import type { Option } from './option.ts';
import { OPTION_ROWS, type Values } from './options.ts';
import { publishedFlags } from './published-flags.ts';
import { type Settings, toSettings } from './settings.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** `help` may come with problems: then the problems are what the caller has to answer. */
export type ParsedSettings =
  | { readonly ok: true; readonly settings: Settings; readonly warnings: readonly string[] }
  | { readonly ok: false; readonly problems: readonly string[]; readonly help: boolean };

/** Reads a command line and an environment; never throws, and tells all problems at once. */
export function parseSettings(argv: readonly string[], env: Environment): ParsedSettings {
  const commandLine = readCommandLine(argv, FLAGS);
  const finding: Finding = { problems: [...commandLine.problems], warnings: [] };
  const values = readValues(commandLine, env, finding);
  const decided = toSettings(values, new Set(commandLine.given.keys()), finding);
  const settings = { ...decided, published: publishedFlags(commandLine, env, decided.scope) };
  const { problems, warnings } = finding;
  if (problems.length > 0 || commandLine.help) return { ok: false, problems, help: commandLine.help };
  return { ok: true, settings, warnings: [...warnings, ...noticesAbout(settings, commandLine)] };
}

const FLAGS = new Map(
  OPTION_ROWS.flatMap(([, { flag, type }]) => (flag === undefined ? [] : [[flag, { bare: type === 'bool' }] as const])),
);

function readValues(commandLine: CommandLine, env: Environment, finding: Finding): Values {
  const values = OPTION_ROWS.map(([name, option]) => {
    const { from, texts } = givenFor(option, commandLine, env);
    const parsed = option.parse(texts);
    if ('value' in parsed) return [name, parsed.value];
    const shown = option.sensitive ? '' : `, not ${quote(parsed.not)}`;
    finding.problems.push(`${from} must ${parsed.must}${shown}`);
    // The fallback stands in, so that the remaining checks can speak too.
    const fallback = option.parse([]);
    return [name, 'value' in fallback ? fallback.value : undefined];
  });
  // Each value comes from the parser of the row it is named after.
  return Object.fromEntries(values) as Values;
}

function givenFor({ flag = '', env: variable = '' }: Option<unknown>, { given }: CommandLine, env: Environment) {
  const texts = given.get(flag);
  if (texts) return { from: `--${flag}`, texts };
  const value = env[variable];
  return { from: variable, texts: value === undefined ? [] : [value] };
}
