import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inject } from 'vitest';

/** The program of the image, made once for a run of the e2e tests from the sources as they are. */
export const shippedProgram = (): string => join(inject('dist'), 'attune.mjs');

/** What a developer runs. */
export const SOURCES = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
