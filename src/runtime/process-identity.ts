import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/**
 * Identifies one process for good. The system gives a pid to another process later, so the time of the start and the
 * command line belong to the identity: no signal is ever sent because of a pid alone.
 */
export interface ProcessIdentity {
  readonly pid: number;
  readonly startedAt: string;
  /** The end of the command line; before it may stand the shell that replaces itself by this command. */
  readonly command: string;
}

/**
 * The identity of a living process, with its whole command line; undefined if there is no such process, or it is a
 * zombie. A dying process has no command line any more, but keeps its ports until the last of its threads is gone.
 */
export function identityOf(pid: number): ProcessIdentity | undefined {
  return process.platform === 'linux' ? fromProc(pid) : fromPs(pid);
}

/** The command line of a dying process. */
const DYING = '';

export function isAlive(identity: ProcessIdentity): boolean {
  const now = identityOf(identity.pid);
  if (now?.startedAt !== identity.startedAt) return false;
  return now.command === DYING || now.command.endsWith(identity.command);
}

export function ownIdentity(): ProcessIdentity {
  const own = identityOf(process.pid);
  if (!own) throw new Error('this process cannot see itself in the process table');
  return own;
}

function fromProc(pid: number): ProcessIdentity | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The second field, the program's name in brackets, may itself contain spaces and brackets: count from the last one.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const isDead = fields[0] === 'Z' || fields[0] === 'X';
    if (isDead && Number(fields[17]) <= 1) return undefined;
    // The start is counted in ticks since the boot, and a pid file may outlive a boot: so the boot is named too.
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(0, -1);
    return { pid, startedAt: `${boot}/${fields[19]}`, command: isDead ? DYING : words.join(' ') };
  } catch {
    return undefined; // it does not exist, or ended between two reads
  }
}

function fromPs(pid: number): ProcessIdentity | undefined {
  try {
    const line = execFileSync('ps', ['-ww', '-o', 'stat=,lstart=,command=', '-p', String(pid)], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    // The state, the start in five words (weekday month day time year), then the command line.
    const parts = /^\s*(\S+)\s+(\S+\s+\S+\s+\S+\s+\S+\s+\S+)\s+(.*)$/.exec(line.trimEnd());
    if (!parts?.[1] || !parts[2] || parts[1].startsWith('Z')) return undefined;
    const isDying = parts[1].includes('E');
    return { pid, startedAt: parts[2].replace(/\s+/g, ' '), command: isDying ? DYING : (parts[3] ?? '') };
  } catch {
    return undefined; // ps ends with 1 when there is no such process
  }
}
