import type { Io } from '../io.ts';

export async function runExplain(_argv: readonly string[], io: Io): Promise<number> {
  io.stderr('attune explain: this checkout does not have it yet\n');
  return 1;
}
