import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { execPath } from 'node:process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll } from 'vitest';
import { environment } from '../../../src/config/load.ts';
import { shippedProgram } from '../../support/programs.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const run = promisify(execFile);

/** What the image sets for its program, and nothing of the machine but where programs and caches are. */
export function imageEnvironment(): Readonly<Record<string, string>> {
  const lines = readFileSync(join(ROOT, 'Containerfile'), 'utf8').matchAll(/^ENV (\w+)=(.*)$/gm);
  const { PATH = '', HOME = '', XDG_CACHE_HOME, XDG_STATE_HOME } = environment();
  return {
    PATH,
    HOME,
    ...(XDG_CACHE_HOME ? { XDG_CACHE_HOME } : {}),
    ...(XDG_STATE_HOME ? { XDG_STATE_HOME } : {}),
    ...Object.fromEntries([...lines].map(([, name, value]) => [name, value])),
  };
}

interface Metafile {
  readonly outputs: Readonly<
    Record<
      string,
      {
        readonly entryPoint?: string;
        readonly imports: readonly { readonly path: string; readonly kind: string; readonly external?: boolean }[];
      }
    >
  >;
}

/** What is shipped, in a folder of the test file's own, as in that of the image. */
export function bundle() {
  const folder = mkdtempSync(join(tmpdir(), 'attune-bundle-'));
  const program = join(folder, 'dist', 'attune.mjs');
  cpSync(dirname(shippedProgram()), dirname(program), { recursive: true });
  afterAll(() => rmSync(folder, { recursive: true }));
  const call = async (argv: readonly string[], env: Readonly<Record<string, string>> = {}) => {
    const options = { env: { ...imageEnvironment(), ...env }, timeout: 280_000 };
    return await run(execPath, [program, ...argv], options).then(
      ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
      ({ code, stdout, stderr }) => ({ code: Number(code), stdout: String(stdout), stderr: String(stderr) }),
    );
  };
  return {
    program,
    /** Runs it to its end, with the image's variables. */
    call,
    /** Writes a file beside it, and tells its path. */
    file(name: string, text: string, mode = 0o600): string {
      const path = join(folder, name);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text, { mode });
      return path;
    },
    metafile: (): Metafile => JSON.parse(readFileSync(join(dirname(program), 'meta.json'), 'utf8')),
  };
}
