import type { Io } from '../io.ts';

export async function runImpact(_argv: readonly string[], io: Io): Promise<number> {
  io.stderr('attune impact: this checkout does not have it yet\n');
  return 1;
}
