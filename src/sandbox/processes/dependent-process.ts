import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import type { Environment } from '../folders.ts';
import { onExit } from './exit-hooks.ts';

export interface DependentOptions {
  readonly cwd: string;
  readonly env: Environment;
  /** Kills the process with all its children, at once. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Starts a watcher in the program's process group, which reads from a pipe whose other end this process holds. When this
 * process ends, even by kill -9, the pipe is closed, and the watcher kills the group.
 */
const LAUNCHER = '{ read -r _; kill -KILL 0; } <&3 >/dev/null 2>&1 & exec 3<&-; exec "$@"';

/** The exit code of a shell for a program that does not exist. */
export const NOT_FOUND = 127;

/**
 * Runs a program that never outlives this process, and neither do the programs that it starts itself. `ended` is its
 * exit code, once it and all its children are gone; null if it was killed.
 */
export function spawnDependent(argv: readonly string[], { cwd, env, signal }: DependentOptions) {
  const child = spawn('/bin/sh', ['-c', LAUNCHER, 'sh', ...argv], {
    cwd,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  }) as ChildProcessByStdio<null, Readable, Readable>;
  const kill = () => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    } catch {
      // all processes of its group are gone already
    }
  };
  signal?.addEventListener('abort', kill, { once: true });
  if (signal?.aborted) kill();
  const removeHook = onExit(kill);
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    // Closing the pipe makes the watcher kill whatever the program has left running.
    child.once('exit', () => child.stdio[3]?.destroy());
    child.once('close', resolve);
  }).finally(() => {
    signal?.removeEventListener('abort', kill);
    removeHook();
  });
  return { outputs: [child.stdout, child.stderr], ended };
}
