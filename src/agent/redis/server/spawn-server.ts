import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type Followed, followChild } from './processes/follow.ts';
import { seen } from './processes/process-table.ts';
import { programProblem } from './program.ts';

/**
 * Starts redis-server in a group of its own, so that it outlives its agent and its children can be found. It shares our
 * output instead of having a pipe to us, which would break when the agent dies. Otherwise words that say why not.
 */
export async function spawnServer(
  program: string,
  args: readonly string[],
  dataDir: string,
): Promise<Followed | string> {
  const child = spawn(program, args, { cwd: dataDir, detached: true, stdio: ['ignore', 'inherit', 'inherit'] });
  child.unref();
  try {
    await once(child, 'spawn');
  } catch (error) {
    return programProblem(program, error);
  }
  const pid = child.pid ?? 0;
  return followChild(seen(pid) ?? { pid, startedAt: '', group: pid }, child);
}
