import { type CommandLine, type KnownFlags, readCommandLine } from '../command-line.ts';
import { type Diagnostics, quote } from '../diagnostics.ts';
import type { Option } from './option.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The settings of a command, by the name under which the program knows each. */
export type OptionTable = Readonly<Record<string, Option<unknown>>>;

/** What each row yields. */
export type ValuesOf<Table> = {
  readonly [Name in keyof Table]: Table[Name] extends Option<infer T> ? T : never;
};

/** The rows without the types of their values, for whoever lists them. */
export const rowsOf = (table: OptionTable): readonly (readonly [string, Option<unknown>])[] => Object.entries(table);

/** The flags of a table, as a command line is read. */
export const flagsOf = (table: OptionTable): KnownFlags =>
  new Map(
    rowsOf(table).flatMap(([, { flag, type }]) => (flag === undefined ? [] : [[flag, { bare: type === 'bool' }]])),
  );

/** Reads a command line and an environment; never throws, and tells all problems at once. */
export function readOptions<Table extends OptionTable>(
  table: Table,
  argv: readonly string[],
  env: Environment,
): { readonly values: ValuesOf<Table>; readonly commandLine: CommandLine; readonly diagnostics: Diagnostics } {
  const commandLine = readCommandLine(argv, flagsOf(table));
  const diagnostics: Diagnostics = { problems: [...commandLine.problems], warnings: [] };
  const values = rowsOf(table).map(([name, option]) => {
    const { from, texts } = givenFor(option, commandLine, env);
    const parsed = option.parse(texts);
    if ('value' in parsed) return [name, parsed.value];
    const shown = option.sensitive ? '' : `, not ${quote(parsed.not)}`;
    diagnostics.problems.push(`${from} must ${parsed.must}${shown}`);
    // The fallback stands in, so that the remaining checks find their problems too.
    const fallback = option.parse([]);
    return [name, 'value' in fallback ? fallback.value : undefined];
  });
  // Each value comes from the parser of the row it is named after.
  return { values: Object.fromEntries(values) as ValuesOf<Table>, commandLine, diagnostics };
}

function givenFor({ flag = '', env: variable = '' }: Option<unknown>, { given }: CommandLine, env: Environment) {
  const texts = given.get(flag);
  if (texts) return { from: `--${flag}`, texts };
  const value = env[variable];
  return { from: variable, texts: value === undefined ? [] : [value] };
}
