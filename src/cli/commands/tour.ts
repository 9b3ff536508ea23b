import type { Io } from '../io.ts';

export async function runTour(_argv: readonly string[], io: Io): Promise<number> {
  io.stderr('attune tour: this checkout does not have it yet\n');
  return 1;
}
