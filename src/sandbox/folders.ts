import { accessSync, constants, mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** The variables of the caller's environment; the sandbox never reads the process's own. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Where downloaded or built programs are kept for every checkout of this user. */
export function binariesFolder(env: Environment): string {
  return join(env['XDG_CACHE_HOME'] || join(home(env), '.cache'), 'attune', 'bin');
}

/** The folder in which every sandbox has a folder of its name. */
export function sandboxesFolder(env: Environment): string {
  return join(env['XDG_STATE_HOME'] || join(home(env), '.local', 'state'), 'attune', 'sandbox');
}

/** A name must fit a path and a context in a kubeconfig. */
export const isSandboxName = (name: string): boolean => /^[a-z0-9][a-z0-9-]{0,39}$/.test(name);

export function sandboxFolder(env: Environment, name: string): string {
  if (!isSandboxName(name)) {
    throw new Error(`a sandbox's name is up to 40 of a-z, 0-9 and -, beginning with a letter or digit, not "${name}"`);
  }
  return join(sandboxesFolder(env), name);
}

/** Makes a folder and checks that it can be written to; if not, the error contains `advice`. */
export function makeFolder(folder: string, advice: string): void {
  try {
    mkdirSync(folder, { recursive: true });
    accessSync(folder, constants.W_OK);
  } catch (error) {
    const known = explainFullDisk(error, folder);
    throw known === error ? new Error(`${folder} is not writable; ${advice}`, { cause: error }) : known;
  }
}

/** Node's error about a full disk does not say which disk; this one does. Other errors are returned as they are. */
export function explainFullDisk(error: unknown, folder: string): unknown {
  if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') return error;
  return new Error(`no space is left on the disk of ${folder}`, { cause: error });
}

/** What `read` returns; undefined when the file or folder does not exist. */
export function ifPresent<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

const home = (env: Environment): string => env['HOME'] || homedir();
