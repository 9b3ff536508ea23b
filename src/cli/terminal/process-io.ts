import { environment } from '../../config/load.ts';
import type { Io } from './io.ts';

/** This process as commands see it. */
export function processIo(signal: AbortSignal): Io {
  const { stdout } = process;
  // A terminal that was closed, a reader that has gone: whoever clears up goes on without.
  for (const stream of [stdout, process.stderr]) stream.on('error', () => {});
  // Only at the end: a full disk under the log is no reason for a controller to stop.
  process.once('exit', () => {
    const failure: NodeJS.ErrnoException | null = stdout.errored;
    // A reader that has gone, as `head` does, or a closed terminal is no reason to complain.
    if (!failure || failure.code === 'EPIPE' || failure.code === 'EIO') return;
    process.stderr.write(`attune: not everything could be written: ${failure.message}\n`);
    process.exitCode ||= 1;
  });
  return {
    env: environment(),
    stdout: (text) => void stdout.write(text),
    stderr: (text) => void process.stderr.write(text),
    signal,
    terminal: stdout,
    errorTerminal: process.stderr,
  };
}
