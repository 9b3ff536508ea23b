import { environment } from '../../config/load.ts';
import type { Io } from './io.ts';

/** This process as commands see it. */
export function processIo(signal: AbortSignal): Io {
  const { stdout } = process;
  // After a closed terminal or pipe the clearing up still has to be done, without output.
  for (const stream of [stdout, process.stderr]) stream.on('error', () => {});
  // Only at the end: a full disk under the log is no reason for a controller to stop.
  process.once('exit', () => {
    const failure: NodeJS.ErrnoException | null = stdout.errored;
    // A closed pipe, as after `head`, or a closed terminal is no error.
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
