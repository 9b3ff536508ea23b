import { visibleLines } from '../../runtime/visible.ts';
import type { Io } from './io.ts';
import { STOPPED } from './signals.ts';

/** The exit code of a command's work. A failure is told, unless the user stopped it. */
export async function ending(name: string, io: Io, work: () => Promise<number>, failure = 1): Promise<number> {
  try {
    return await work();
  } catch (error) {
    if (io.signal.aborted) return STOPPED;
    io.stderr(`attune ${name}: ${visibleLines(error instanceof Error ? error.message : String(error))}\n`);
    return failure;
  }
}

/** Ends with what is wrong with the command line. */
export function refuse(name: string, problems: readonly string[], io: Io): number {
  const lines = problems.map((problem) => `attune ${name}: ${problem}\n`);
  io.stderr(`${lines.join('')}attune ${name} --help tells more\n`);
  return 2;
}
