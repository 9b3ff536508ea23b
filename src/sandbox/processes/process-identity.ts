import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/**
 * One process and no other. A pid alone is used again by the system, so the moment of the start and the command line
 * are part of the identity: nothing is ever signalled on the word of a pid.
 */
export interface ProcessIdentity {
  readonly pid: number;
  readonly startedAt: string;
  /** The last words of the command line; what comes before is the launcher that replaces itself by it. */
  readonly command: string;
}

/**
 * The identity of a living process, with the whole command line; undefined when there is none (a zombie is none). One
 * that is dying has lost its command line, and still has its ports until the last of its threads is gone.
 */
export function identityOf(pid: number): ProcessIdentity | undefined {
  return process.platform === 'linux' ? fromProc(pid) : fromPs(pid);
}

/** What stands in the place of a command line that is gone. */
const DYING = '';

/** Whether the process recorded as `identity` still lives. */
export function isAlive(identity: ProcessIdentity): boolean {
  const now = identityOf(identity.pid);
  if (now?.startedAt !== identity.startedAt) return false;
  return now.command === DYING || now.command.endsWith(identity.command);
}

/** This process. */
export function ownIdentity(): ProcessIdentity {
  const own = identityOf(process.pid);
  if (!own) throw new Error('this process cannot see itself in the process table');
  return own;
}

function fromProc(pid: number): ProcessIdentity | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The second field, the name, may contain spaces and brackets: count from its closing bracket.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [state] = fields;
    const isDead = state === 'Z' || state === 'X';
    if (isDead && Number(fields[17]) <= 1) return undefined;
    // Ticks count from the boot, so the boot is named too: a record may outlive it.
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(0, -1);
    return { pid, startedAt: `${boot}/${fields[19]}`, command: isDead ? DYING : words.join(' ') };
  } catch {
    return undefined; // gone, or between two reads just gone
  }
}

function fromPs(pid: number): ProcessIdentity | undefined {
  try {
    const line = execFileSync('ps', ['-ww', '-o', 'stat=,lstart=,command=', '-p', String(pid)], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    // The state, then five words for the moment of the start (weekday month day time year), then the command line.
    const parts = /^\s*(\S+)\s+(\S+\s+\S+\s+\S+\s+\S+\s+\S+)\s+(.*)$/.exec(line.trimEnd());
    if (!parts?.[1] || !parts[2] || parts[1].startsWith('Z')) return undefined;
    const isDying = parts[1].includes('E');
    return { pid, startedAt: parts[2].replace(/\s+/g, ' '), command: isDying ? DYING : (parts[3] ?? '') };
  } catch {
    return undefined; // ps ends with 1 when there is no such process
  }
}
