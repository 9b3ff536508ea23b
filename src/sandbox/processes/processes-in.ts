import { readdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs';
import { sep } from 'node:path';
import { ifPresent } from '../folders.ts';

/** Only a process that hangs in the kernel survives SIGKILL for so long. */
const DEADLINE_MS = 5000;

/**
 * Kills the daemons that work in a folder, by which a container's processes are known: one that outlives the process that
 * started it has no pid file. Returns when all are gone; false if one is still there after five seconds.
 */
export function killProcessesIn(folder: string): boolean {
  const pause = new Int32Array(new SharedArrayBuffer(4));
  const deadline = performance.now() + DEADLINE_MS;
  for (let found = daemonsWorkingIn(folder); found.length > 0; found = daemonsWorkingIn(folder)) {
    if (performance.now() > deadline) return false;
    for (const pid of found) kill(pid);
    Atomics.wait(pause, 0, 0, 10);
  }
  return true;
}

/** Somebody who looks around in the folder has a terminal, and is no daemon. */
export function daemonsWorkingIn(folder: string): readonly number[] {
  const real = ifPresent(() => realpathSync(folder)) ?? folder;
  const pids = ifPresent(() => readdirSync('/proc'))?.filter((name) => /^\d+$/.test(name)) ?? [];
  return pids.map(Number).filter((pid) => {
    try {
      const cwd = readlinkSync(`/proc/${pid}/cwd`).replace(/ \(deleted\)$/, '');
      if (pid === process.pid || (cwd !== real && !cwd.startsWith(real + sep))) return false;
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      const [state, , , , terminal] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return state !== 'Z' && state !== 'X' && terminal === '0';
    } catch {
      return false; // it has ended meanwhile, or belongs to somebody else
    }
  });
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
