import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { env as environment } from 'node:process';
import { stripVTControlCharacters } from 'node:util';
import { onTestFinished } from 'vitest';
import { identityOf, type ProcessIdentity } from '../../src/runtime/process-identity.ts';

export const CTRL_C = '\x03';
export const CTRL_BACKSLASH = '\x1c';

/** A terminal of its own with one command in its foreground, as a person at a keyboard has it. */
export interface Terminal {
  /** Everything that was shown so far, without colours and cursor movements. */
  screen(): string;
  press(key: string): void;
  /** The window is closed: the kernel hangs up on everybody in it. */
  close(): void;
  /** The exit code of the command, 128 and the signal's number for one that was killed. */
  readonly ended: Promise<number>;
}

/** Opens a pseudo-terminal with util-linux's `script`, which passes on every key and every byte that is shown. */
export function openTerminal(command: string, cwd: string, env: Readonly<Record<string, string>>): Terminal {
  const child = spawn('script', ['-qfec', command, '/dev/null'], {
    cwd,
    env: { ...environment, ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let shown = '';
  child.stdout.on('data', (bytes: Buffer) => {
    shown += bytes.toString();
  });
  child.stdin.on('error', () => {}); // a key that is pressed after the end
  const ended = new Promise<number>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve(code ?? -1));
  });
  const close = () => void child.kill('SIGKILL');
  onTestFinished(close);
  return {
    screen: () => stripVTControlCharacters(shown),
    press: (key) => void child.stdin.write(key),
    close,
    ended,
  };
}

/** All processes of this machine that were given this text in their arguments or their environment. */
export function processesWith(text: string): readonly ProcessIdentity[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .filter((pid) => bytesOf(pid, 'environ').includes(text) || bytesOf(pid, 'cmdline').includes(text))
    .flatMap((pid) => identityOf(Number(pid)) ?? []);
}

/** Ends what a test that failed has left; gives how many that were. */
export function killAllWith(text: string): number {
  const found = processesWith(text);
  for (const { pid } of found) send(pid, 'SIGKILL');
  return found.length;
}

/** A signal to somebody who may just have gone. */
export function send(pid: number, signal: NodeJS.Signals): void {
  // To the system that is everybody in our own group.
  if (pid === 0) throw new Error('there is no process to send a signal to');
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

function bytesOf(pid: string, file: 'environ' | 'cmdline'): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1');
  } catch {
    return ''; // it has just ended, or is somebody else's
  }
}
