import { environment } from '../config/load.ts';
import type { Io } from './io.ts';

/** This process as commands see it. */
export function processIo(signal: AbortSignal): Io {
  // A reader that has gone, as `head` does, is no reason to complain.
  process.stdout.on('error', () => {});
  return {
    env: environment(),
    stdout: (text) => void process.stdout.write(text),
    stderr: (text) => void process.stderr.write(text),
    signal,
    terminal: process.stdout,
  };
}
