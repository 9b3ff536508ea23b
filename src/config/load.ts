import type { Environment } from './parse-settings.ts';

/** The only place that reads the process's environment. */
export const environment = (): Environment => process.env;
