import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ifPresent } from '../folders.ts';

export const logsFolder = (dir: string): string => join(dir, 'logs');
export const logFile = (dir: string, name: string): string => join(logsFolder(dir), `${name}.log`);

/** The names of all processes that have a log in a sandbox's folder. */
export function logNames(dir: string): readonly string[] {
  const files = ifPresent(() => readdirSync(logsFolder(dir))) ?? [];
  return files.map((file) => file.slice(0, -'.log'.length));
}

/** The last lines of a process's log. A Go stack trace at the end is left out: the lines before it say what happened. */
export function lastLines(dir: string, name: string, count = 12): readonly string[] {
  try {
    const lines = readFileSync(logFile(dir, name), 'utf8').trimEnd().split('\n');
    const cause = lines.findLastIndex((line) => CAUSE.test(line));
    const trace = lines.findIndex((line, at) => at > cause && TRACE.test(line));
    const shown = cause >= 0 && trace >= 0 ? lines.slice(0, trace) : lines;
    return shown.filter((line) => line.trim() !== '').slice(-count);
  } catch {
    return [];
  }
}

// How the Go runtime, klog and zap begin a line about a fatal error.
const CAUSE = /^(panic|fatal error): |^[EF]\d{4} |"level":"(error|fatal|panic)"/;
const TRACE = /^goroutine \d+ \[/;
