import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import type { Environment } from '../folders.ts';
import { atExit } from './at-exit.ts';

export interface Leashed {
  /** Both streams of its output. */
  readonly outputs: readonly Readable[];
  /** The exit code when it and all its children are gone; null for one that was killed. */
  readonly ended: Promise<number | null>;
}

interface LeashOptions {
  readonly cwd: string;
  readonly env: Environment;
  /** Kills it with all its children, at once. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * A watcher in the program's own group holds the other end of a pipe to this process. When this process ends, even by
 * kill -9, the pipe does too, and the watcher kills the group.
 */
const LAUNCHER = '{ read -r _; kill -KILL 0; } <&3 >/dev/null 2>&1 & exec 3<&-; exec "$@"';

/** What a shell says when there is no such program. */
export const NOT_FOUND = 127;

/** Runs a program that never outlives this process, nor do the programs that it runs itself. */
export function leashed(argv: readonly string[], { cwd, env, signal }: LeashOptions): Leashed {
  const child = spawn('/bin/sh', ['-c', LAUNCHER, 'sh', ...argv], {
    cwd,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  }) as ChildProcessByStdio<null, Readable, Readable>;
  const end = () => kill(child.pid);
  signal?.addEventListener('abort', end, { once: true });
  if (signal?.aborted) end();
  const callOff = atExit(end);
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    // The watcher is let go, and with it goes whatever the program has left running.
    child.once('exit', () => child.stdio[3]?.destroy());
    child.once('close', resolve);
  }).finally(() => {
    signal?.removeEventListener('abort', end);
    callOff();
  });
  return { outputs: [child.stdout, child.stderr], ended };
}

function kill(group: number | undefined): void {
  try {
    if (group !== undefined) process.kill(-group, 'SIGKILL');
  } catch {
    // all of it is gone already
  }
}
