import { noticesAbout } from './notices.ts';
import { CONTROLLER_OPTIONS } from './options/controller.ts';
import { type Environment, readOptions } from './options/option-table.ts';
import { publishedFlags } from './published-flags.ts';
import { type Settings, toSettings } from './settings.ts';

/** `help` may come with problems: then the problems are what the caller has to answer. */
export type ParsedSettings =
  | { readonly ok: true; readonly settings: Settings; readonly warnings: readonly string[] }
  | { readonly ok: false; readonly problems: readonly string[]; readonly help: boolean };

/** The controller's settings; never throws, and tells all problems at once. */
export function parseSettings(argv: readonly string[], env: Environment): ParsedSettings {
  const { values, commandLine, diagnostics } = readOptions(CONTROLLER_OPTIONS, argv, env);
  const decided = toSettings(values, new Set(commandLine.given.keys()), diagnostics);
  const settings = { ...decided, published: publishedFlags(commandLine, env, decided.scope) };
  const { problems, warnings } = diagnostics;
  if (problems.length > 0 || commandLine.help) return { ok: false, problems, help: commandLine.help };
  return { ok: true, settings, warnings: [...warnings, ...noticesAbout(settings, commandLine)] };
}
