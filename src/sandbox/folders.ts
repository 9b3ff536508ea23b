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

/** A sandbox's folder; the name becomes a path and a context in a kubeconfig, so it is kept plain. */
export function sandboxFolder(env: Environment, name: string): string {
  if (!/^[a-z0-9][a-z0-9-]{0,39}$/.test(name)) {
    throw new Error(`a sandbox's name is up to 40 of a-z, 0-9 and -, beginning with a letter or digit, not "${name}"`);
  }
  return join(sandboxesFolder(env), name);
}

function home(env: Environment): string {
  return env['HOME'] || homedir();
}
