import type { Environment } from './options/option-table.ts';

/** The only place that reads the process's environment. */
export const environment = (): Environment => process.env;
