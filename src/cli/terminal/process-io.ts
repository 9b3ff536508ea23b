import { text } from 'node:stream/consumers';
import { isatty } from 'node:tty';
import { environment } from '../../config/load.ts';
import type { Io } from './io.ts';

/** This process as commands see it. */
export function processIo(signal: AbortSignal): Io {
  const { stdout } = process;
  // After a closed terminal or pipe the clearing up still has to be done, without output.
  process.stderr.on('error', () => {});
  // Kept here: the stream itself forgets it, because Node never really closes it.
  let failure: NodeJS.ErrnoException | undefined;
  stdout.on('error', (error) => {
    failure ??= error;
  });
  // Only at the end: a full disk under the log is no reason for a controller to stop.
  process.once('exit', () => {
    // A closed pipe, as after `head`, or a closed terminal is no error.
    if (!failure || failure.code === 'EPIPE' || failure.code === 'EIO') return;
    process.stderr.write(`attune: not everything could be written: ${failure.message}\n`);
    process.exitCode ||= 1;
  });
  return {
    env: environment(),
    stdout: (lines) => void stdout.write(lines),
    stderr: (lines) => void process.stderr.write(lines),
    signal,
    terminal: stdout,
    // The stream itself is not touched: it would be opened for reading.
    input: { isTTY: isatty(0) },
    errorTerminal: process.stderr,
    readInput: () => text(process.stdin),
  };
}

/**
 * Waits until the readers have taken what was written: a pipe holds only so much, and what does not fit is lost with the
 * process. False: the user stopped it before that.
 */
export async function outputTaken(signal: AbortSignal): Promise<boolean> {
  const stopped = new Promise<boolean>((resolve) => {
    signal.addEventListener('abort', () => resolve(false), { once: true });
  });
  const taken = Promise.all([process.stdout, process.stderr].map(emptied)).then(() => true);
  // Who has stopped already is kept waiting by no reader; the command knows about it.
  return signal.aborted || (await Promise.race([taken, stopped]));
}

/** A reader that has gone takes nothing more, and the stream says so to every write. */
const emptied = (stream: NodeJS.WriteStream): Promise<void> =>
  new Promise((resolve) => void stream.write('', () => resolve()));
