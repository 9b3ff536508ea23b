import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { identityOf } from '../../../../runtime/process-identity.ts';

/** A living process. The start belongs to its identity: the system gives the pid to another one later. */
export interface Seen {
  readonly pid: number;
  readonly startedAt: string;
  /** The process group; a server's children stay in that of the server. */
  readonly group: number;
}

/** Living processes of a program that work in a folder, also one that was deleted. */
export function processesIn(folder: string, isProgram: (name: string) => boolean): readonly Seen[] {
  return pids().flatMap((pid) => {
    const stat = statOf(pid);
    if (!stat?.isAlive || !isProgram(stat.name)) return [];
    const cwd = folderOf(pid);
    return cwd === folder || cwd === `${folder} (deleted)` ? (seen(pid) ?? []) : [];
  });
}

/** The process with this pid, if there is one and it is not a zombie. */
export function seen(pid: number): Seen | undefined {
  const stat = statOf(pid);
  const identity = identityOf(pid);
  return stat && identity && { pid, startedAt: identity.startedAt, group: stat.group };
}

/** Whether this very process lives. Its command line plays no part: Redis rewrites its own. */
export const lives = ({ pid, startedAt }: Seen): boolean => identityOf(pid)?.startedAt === startedAt;

/** The living processes of a group. */
export const groupMembers = (group: number): readonly number[] =>
  pids().filter((pid) => {
    const stat = statOf(pid);
    return stat?.group === group && stat.isAlive;
  });

/** Sends a signal to exactly this process; false if it is gone. */
export function signalTo(process: Seen, name: NodeJS.Signals): boolean {
  return lives(process) && kill(process.pid, name);
}

/** Processes of a group cannot be killed: they hang in the kernel, as on a dead disk, or are somebody else's. */
export class GroupSurvives extends Error {
  override readonly name = 'GroupSurvives';
}

/** How long a group may take to end; it takes milliseconds unless it hangs. */
const KILL_MS = 5000;
/** So long it is looked at often: looking costs a walk through all processes. */
const OFTEN_MS = 100;

/**
 * Kills all processes of a group, and returns when none of them is left.
 *
 * @throws {GroupSurvives} if there are still some after `limitMs`, or nobody may kill them.
 */
export async function killGroup(group: number, limitMs = KILL_MS): Promise<void> {
  // 0 and 1 would address our own group, or every process.
  if (group <= 1 || group === statOf(process.pid)?.group) throw new Error(`${group} is no process group of a server`);
  const start = performance.now();
  for (let members = groupMembers(group); members.length > 0; members = groupMembers(group)) {
    const tookMs = performance.now() - start;
    if (tookMs >= limitMs)
      throw new GroupSurvives(`process group ${group} survives SIGKILL for ${limitMs} ms (pid ${members.join(', ')})`);
    killMembers(group);
    await delay(tookMs < OFTEN_MS ? 5 : 50);
  }
}

function killMembers(group: number): void {
  try {
    kill(-group, 'SIGKILL');
  } catch (error) {
    throw new GroupSurvives(`process group ${group}: ${(error as Error).message}`, { cause: error });
  }
}

function kill(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
}

const pids = (): readonly number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);

interface Stat {
  readonly pid: number;
  readonly name: string;
  readonly group: number;
  readonly isAlive: boolean;
}

/** See proc(5). */
function statOf(pid: number): Stat | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const bracket = text.lastIndexOf(')');
    const fields = text.slice(bracket + 2).split(' ');
    // A zombie with more threads than one still dies, and has its files open.
    const isAlive = !['Z', 'X'].includes(fields[0] ?? '') || Number(fields[17]) > 1;
    return { pid, name: text.slice(text.indexOf('(') + 1, bracket), group: Number(fields[2]), isAlive };
  } catch {
    return undefined; // it ended in the meantime
  }
}

function folderOf(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return undefined; // it ended in the meantime, or is somebody else's
  }
}
