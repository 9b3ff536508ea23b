import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Environment } from '../folders.ts';
import { identityOf, isAlive, type ProcessIdentity } from './process-identity.ts';

/**
 * Processes that outlive the one that started them, and are found again.
 *
 * Invariants
 *  1. A process does nothing before its record is on disk: it waits for a word on its standard input, and ends when its
 *     parent dies before saying it. So there is no moment at which a kill -9 of the parent leaves an unknown process.
 *  2. A signal is sent only to a process that is the recorded one (see ProcessIdentity).
 *  3. `end` returns when the process is gone, not when the signal is sent.
 */
export interface RecordedProcess {
  readonly name: string;
  readonly identity: ProcessIdentity;
  readonly ended: Promise<Ending>;
  /** Lets this program end while the process lives on. */
  release(): void;
}

interface Ending {
  /** As a shell has it: 128 and the signal's number for a process that was killed. */
  readonly exitCode: number;
  readonly words: string;
}

export interface Command {
  /** The name of its record and its log. */
  readonly name: string;
  readonly argv: readonly string[];
  readonly env: Environment;
}

/** Starts a process with its record in `dir`/processes and its output in `dir`/logs. */
export function start(dir: string, command: Command): RecordedProcess {
  const { name, argv, env } = command;
  mkdirSync(logsFolder(dir), { recursive: true });
  const log = openSync(logFile(dir, name), 'a');
  // A group of its own: Ctrl-C in a terminal reaches the parent alone, which then ends its children in order.
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
  writeRecord(dir, name, identity);
  child.stdin?.on('error', () => {}); // it died before the word came: `ended` tells
  child.stdin?.end('go\n');
  return { name, identity, ended: ending(child), release: () => child.unref() };
}

/** The processes recorded in a folder, living or not. */
export function recorded(dir: string): ReadonlyMap<string, ProcessIdentity> {
  const found = new Map<string, ProcessIdentity>();
  for (const file of listFiles(join(dir, 'processes'))) {
    if (!file.endsWith('.json')) continue;
    const identity: ProcessIdentity = JSON.parse(readFileSync(join(dir, 'processes', file), 'utf8'));
    found.set(file.slice(0, -'.json'.length), identity);
  }
  return found;
}

/** Asks a process to end, waits, and kills it after `graceMs` (0: at once); returns when it is gone. */
export async function end(identity: ProcessIdentity, graceMs: number): Promise<void> {
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

/** Kills processes without leaving this turn of the program, for its last moment; false when one did not go. */
export function endNow(identities: readonly ProcessIdentity[]): boolean {
  const pause = new Int32Array(new SharedArrayBuffer(4));
  const deadline = performance.now() + LAST_MOMENT_MS;
  let living = identities.filter(isAlive);
  while (living.length > 0 && performance.now() < deadline) {
    for (const identity of living) signal(identity, 'SIGKILL');
    Atomics.wait(pause, 0, 0, 10);
    living = living.filter(isAlive);
  }
  return living.length === 0;
}

/** Only what hangs in the kernel survives a SIGKILL for so long. */
const LAST_MOMENT_MS = 5000;

export function logsFolder(dir: string): string {
  return join(dir, 'logs');
}

export function logFile(dir: string, name: string): string {
  return join(logsFolder(dir), `${name}.log`);
}

/** The names of all who have ever written a log in a folder. */
export function logNames(dir: string): readonly string[] {
  return listFiles(logsFolder(dir)).map((file) => file.slice(0, -'.log'.length));
}

/** The last lines of a process's log; where it ends with a trace of Go, those before: they say why. */
export function lastLines(dir: string, name: string, count = 12): readonly string[] {
  try {
    const lines = readFileSync(logFile(dir, name), 'utf8').trimEnd().split('\n');
    const cause = lines.findLastIndex((line) => CAUSE.test(line));
    const trace = lines.findIndex((line, at) => at > cause && TRACE.test(line));
    const telling = cause >= 0 && trace >= 0 ? lines.slice(0, trace) : lines;
    return telling.filter((line) => line.trim() !== '').slice(-count);
  } catch {
    return [];
  }
}

// Go's own words, those of klog and those of zap.
const CAUSE = /^(panic|fatal error): |^[EF]\d{4} |"level":"(error|fatal|panic)"/;
const TRACE = /^goroutine \d+ \[/;

function signal(identity: ProcessIdentity, name: 'SIGTERM' | 'SIGKILL'): void {
  if (!isAlive(identity)) return;
  try {
    process.kill(-identity.pid, name); // the group: its own children too
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

function ending(child: ChildProcess): Promise<Ending> {
  return new Promise((resolve) => {
    child.once('exit', (code, by) => {
      if (by) resolve({ exitCode: 128 + constants.signals[by], words: `was ended by ${by}` });
      else resolve({ exitCode: code ?? 0, words: `ended with exit code ${code}` });
    });
  });
}

function writeRecord(dir: string, name: string, identity: ProcessIdentity): void {
  const folder = join(dir, 'processes');
  mkdirSync(folder, { recursive: true });
  const temporary = join(folder, `${name}.${process.pid}.new`);
  writeFileSync(temporary, JSON.stringify(identity));
  renameSync(temporary, join(folder, `${name}.json`));
}

/** Forgets a process that is gone. */
export function forget(dir: string, name: string): void {
  rmSync(join(dir, 'processes', `${name}.json`), { force: true });
}

function listFiles(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
