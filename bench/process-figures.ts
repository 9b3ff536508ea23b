import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

export interface Memory {
  readonly rssBytes: number;
  readonly peakBytes: number;
  /** Of the resident: what is its own, not pages of program files that others share. */
  readonly ownBytes: number;
}

/** Resident memory of a process, and the most it ever was. */
export function memoryOf(pid: number): Memory {
  return parseMemory(readFileSync(`/proc/${pid}/status`, 'utf8'));
}

export function parseMemory(status: string): Memory {
  const bytes = (field: string): number => kib(status, field) * 1024;
  return { rssBytes: bytes('VmRSS'), peakBytes: bytes('VmHWM'), ownBytes: bytes('RssAnon') };
}

function kib(status: string, field: string): number {
  const value = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1];
  if (value === undefined) throw new Error(`no ${field} in the status of a process`);
  return Number(value);
}

/** Milliseconds of processor time of a process, all its threads together, to the nanosecond of the scheduler. */
export function cpuMsOf(pid: number): number {
  let nanoseconds = 0;
  for (const task of readdirSync(`/proc/${pid}/task`)) {
    try {
      nanoseconds += Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0]);
    } catch {
      // A thread may end between the listing and the reading.
    }
  }
  return nanoseconds / 1e6;
}

/** Ticks that the machine's processors spent in all since it was started, and those of them without work. */
export function parseTicks(stat: string): { readonly all: number; readonly idle: number } {
  const ticks = /^cpu +(.*)$/m.exec(stat)?.[1]?.split(' ').map(Number) ?? [];
  const [, , , idle = 0, waiting = 0] = ticks;
  return { all: ticks.slice(0, 8).reduce((sum, value) => sum + value, 0), idle: idle + waiting };
}

const INTERVAL_MS = 3000;

/** Which share of the processors was without work for a while. */
export async function idleShare(): Promise<number> {
  const read = () => parseTicks(readFileSync('/proc/stat', 'utf8'));
  const before = read();
  await delay(INTERVAL_MS);
  const after = read();
  return (after.idle - before.idle) / (after.all - before.all);
}
