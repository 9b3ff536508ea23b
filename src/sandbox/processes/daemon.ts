import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { identityOf, isAlive, type ProcessIdentity } from '../../runtime/process-identity.ts';
import { type Environment, ifPresent } from '../folders.ts';
import { logFile, logsFolder } from './process-logs.ts';

/**
 * A process that may outlive the one that started it, and is found again by its pid file.
 *
 * Invariants
 *  1. A daemon does nothing before its pid file is on disk: it waits for a line on its standard input, and ends if its
 *     parent dies before sending it. So a kill -9 of the parent never leaves a process that nobody knows of.
 *  2. A signal is sent only to the very process of the pid file (see ProcessIdentity).
 *  3. `terminate` returns when the process is gone, not when the signal is sent.
 */
export interface Daemon {
  readonly identity: ProcessIdentity;
  /** The exit code is as in a shell: 128 plus the number of the signal for a process that was killed. */
  readonly ended: Promise<{ readonly exitCode: number; readonly description: string }>;
  /** Lets this program end while the daemon lives on. */
  detach(): void;
}

/** Starts a process with its pid file in `dir`/processes and its output in `dir`/logs, both of its name. */
export function startDaemon(
  dir: string,
  { name, argv, env }: { readonly name: string; readonly argv: readonly string[]; readonly env: Environment },
): Daemon {
  mkdirSync(logsFolder(dir), { recursive: true });
  const log = openSync(logFile(dir, name), 'a');
  // In a process group of its own: Ctrl-C in a terminal reaches the parent alone, which then ends its children in order.
  const child = spawn('/bin/sh', ['-c', 'read -r _ && exec "$@" </dev/null', 'sh', ...argv], {
    detached: true,
    stdio: ['pipe', log, log],
    env,
    cwd: dir,
  });
  closeSync(log);
  const found = child.pid === undefined ? undefined : identityOf(child.pid);
  if (!found) throw new Error(`${name} could not be started`);
  const identity: ProcessIdentity = { ...found, command: argv.join(' ') };
  writePidFile(dir, name, identity);
  child.stdin?.on('error', () => {}); // it has died already, which `ended` tells
  child.stdin?.end('go\n');
  return { identity, ended: exitOf(child), detach: () => child.unref() };
}

/** The processes that have a pid file in a sandbox's folder, alive or not. */
export function daemonsIn(dir: string): ReadonlyMap<string, ProcessIdentity> {
  const files = ifPresent(() => readdirSync(pidFolder(dir)))?.filter((file) => file.endsWith('.json')) ?? [];
  const read = (file: string): ProcessIdentity => JSON.parse(readFileSync(join(pidFolder(dir), file), 'utf8'));
  return new Map(files.map((file) => [basename(file, '.json'), read(file)]));
}

/** Sends SIGTERM, and SIGKILL after `graceMs` (0: at once); returns when the process is gone. */
export async function terminate(identity: ProcessIdentity, graceMs: number): Promise<void> {
  if (graceMs > 0) {
    signal(identity, 'SIGTERM');
    const deadline = performance.now() + graceMs;
    while (isAlive(identity) && performance.now() < deadline) await delay(20);
  }
  while (isAlive(identity)) {
    signal(identity, 'SIGKILL');
    await delay(10);
  }
}

/** Kills processes without promises, for exit hooks; false if one is still there after five seconds. */
export function killSync(identities: readonly ProcessIdentity[]): boolean {
  const pause = new Int32Array(new SharedArrayBuffer(4));
  // Only a process that hangs in the kernel survives SIGKILL for so long.
  const deadline = performance.now() + 5000;
  let living = identities.filter(isAlive);
  while (living.length > 0 && performance.now() < deadline) {
    for (const identity of living) signal(identity, 'SIGKILL');
    Atomics.wait(pause, 0, 0, 10);
    living = living.filter(isAlive);
  }
  return living.length === 0;
}

export function removePidFile(dir: string, name: string): void {
  rmSync(join(pidFolder(dir), `${name}.json`), { force: true });
}

function writePidFile(dir: string, name: string, identity: ProcessIdentity): void {
  mkdirSync(pidFolder(dir), { recursive: true });
  const temporary = join(pidFolder(dir), `${name}.${process.pid}.new`);
  writeFileSync(temporary, JSON.stringify(identity));
  renameSync(temporary, join(pidFolder(dir), `${name}.json`));
}

const pidFolder = (dir: string): string => join(dir, 'processes');

function signal(identity: ProcessIdentity, name: 'SIGTERM' | 'SIGKILL'): void {
  if (!isAlive(identity)) return;
  try {
    process.kill(-identity.pid, name); // the whole group, so that its children get it too
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

function exitOf(child: ChildProcess): Daemon['ended'] {
  return new Promise((resolve) => {
    child.once('exit', (code, by) => {
      if (by) resolve({ exitCode: 128 + constants.signals[by], description: `was ended by ${by}` });
      else resolve({ exitCode: code ?? 0, description: `ended with exit code ${code}` });
    });
  });
}
