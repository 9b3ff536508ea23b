import type { Environment } from '../../src/config/options/option-table.ts';
import { parseSettings } from '../../src/config/parse-settings.ts';
import type { Settings } from '../../src/config/settings.ts';

export const accepted = (argv: readonly string[], env: Environment = {}) => {
  const parsed = parseSettings(argv, env);
  if (!parsed.ok) throw new Error(parsed.problems.join('\n'));
  return parsed;
};
export const settings = (argv: readonly string[], env: Environment = {}): Settings => accepted(argv, env).settings;
export const warnings = (argv: readonly string[], env: Environment = {}): readonly string[] =>
  accepted(argv, env).warnings;
export const problems = (argv: readonly string[], env: Environment = {}): readonly string[] => {
  const parsed = parseSettings(argv, env);
  return parsed.ok ? [] : parsed.problems;
};
