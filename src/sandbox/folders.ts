import { accessSync, constants, mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** The variables of the caller's environment; the sandbox never reads the process's own. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Where downloaded or built programs are kept for every checkout of this user. */
export function binariesFolder(env: Environment): string {
  return join(env['XDG_CACHE_HOME'] || join(home(env), '.cache'), 'attune', 'bin');
}

/** Where every sandbox has a folder of its name. */
export function sandboxesFolder(env: Environment): string {
  return join(env['XDG_STATE_HOME'] || join(home(env), '.local', 'state'), 'attune', 'sandbox');
}

/** The name becomes a path and a context in a kubeconfig, so it is kept plain. */
export function isSandboxName(name: string): boolean {
  return /^[a-z0-9][a-z0-9-]{0,39}$/.test(name);
}

/** A sandbox's folder. */
export function sandboxFolder(env: Environment, name: string): string {
  if (!isSandboxName(name)) {
    throw new Error(`a sandbox's name is up to 40 of a-z, 0-9 and -, beginning with a letter or digit, not "${name}"`);
  }
  return join(sandboxesFolder(env), name);
}

/** Makes a folder that can be written to, or says what to do where that cannot be. */
export function makeFolder(folder: string, cure: string): void {
  try {
    mkdirSync(folder, { recursive: true });
    accessSync(folder, constants.W_OK);
  } catch (error) {
    const known = withPlace(error, folder);
    throw known === error ? new Error(`${folder} is not writable; ${cure}`, { cause: error }) : known;
  }
}

/** Node does not say where a disk is full. */
export function withPlace(error: unknown, folder: string): unknown {
  if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') return error;
  return new Error(`no space is left on the disk of ${folder}`, { cause: error });
}

function home(env: Environment): string {
  return env['HOME'] || homedir();
}
