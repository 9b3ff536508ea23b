import { type Environment, type ParsedSettings, parseSettings } from './parse-settings.ts';

/** The only place that reads the process's environment. */
export const environment = (): Environment => process.env;

export const loadSettings = (argv: readonly string[]): ParsedSettings => parseSettings(argv, environment());
