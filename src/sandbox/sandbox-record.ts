import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Environment, sandboxesFolder } from './folders.ts';
import { isAlive, type ProcessIdentity } from './processes/process-identity.ts';
import { end, endNow, forget, logsFolder, recorded } from './processes/recorded-process.ts';

/** What a sandbox's folder says about it to programs that did not start it. */
export interface SandboxRecord {
  readonly name: string;
  /** Undefined until the API server has an address. */
  readonly server: string | undefined;
  /** The process whose end is the sandbox's end; undefined for one that stands on its own. */
  readonly owner: ProcessIdentity | undefined;
  /** Whether the data is wanted after the end. */
  readonly keep: boolean;
  readonly ready: boolean;
}

const FILE = 'sandbox.json';

export function writeRecord(dir: string, record: SandboxRecord): void {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  writeFileSync(join(dir, `${FILE}.new`), JSON.stringify(record));
  renameSync(join(dir, `${FILE}.new`), join(dir, FILE));
}

export function readRecord(dir: string): SandboxRecord | undefined {
  try {
    return JSON.parse(readFileSync(join(dir, FILE), 'utf8'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** The names of all sandboxes of this user, running or kept. */
export function sandboxNames(env: Environment): readonly string[] {
  try {
    const entries = readdirSync(sandboxesFolder(env), { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** Whether the process that a sandbox belongs to has died without ending it. */
export function isAbandoned(record: SandboxRecord | undefined): boolean {
  return record?.owner !== undefined && !isAlive(record.owner);
}

/** Whether a folder is what a killed process left of a removal or a beginning; logs alone are kept on purpose. */
export function isRemnant(dir: string): boolean {
  if (existsSync(join(dir, FILE)) || !existsSync(dir)) return false;
  return readdirSync(dir).some((entry) => join(dir, entry) !== logsFolder(dir));
}

/** Ends every process of a sandbox and removes its folder, but for the data and the logs where they are to be kept. */
export async function clearAway(dir: string, keep: boolean, keepLogs = false): Promise<void> {
  // The runner of pods goes first, as it starts processes itself; then whatever is recorded by now.
  const runner = recorded(dir).get('pods');
  if (runner) await end(runner, 0);
  const processes = [...recorded(dir)];
  await Promise.all(
    processes.map(async ([name, identity]) => {
      // Only etcd has something to lose, and only when somebody wants it.
      await end(identity, keep && name === 'etcd' ? 10_000 : 0);
      forget(dir, name);
    }),
  );
  remove(dir, keep, keepLogs);
}

/** The same for a sandbox of this process, in its last moment: nothing is waited for but the death of the processes. */
export function clearAwayNow(dir: string, keep: boolean): void {
  const record = readRecord(dir);
  if (record?.owner?.pid !== process.pid || !isAlive(record.owner)) return;
  const runner = recorded(dir).get('pods');
  if (runner) endNow([runner]);
  const processes = recorded(dir);
  // One that does not go keeps its record: the next start tries again.
  if (!endNow([...processes.values()])) return;
  for (const name of processes.keys()) forget(dir, name);
  remove(dir, keep, false);
}

function remove(dir: string, keep: boolean, keepLogs: boolean): void {
  const record = readRecord(dir);
  const logs = logsFolder(dir);
  if (!keepLogs) rmSync(logs, { recursive: true, force: true });
  if (!keep) removeAllBut(logs, dir);
  else if (record) writeRecord(dir, { ...record, owner: undefined, server: undefined, keep, ready: false });
}

function removeAllBut(kept: string, dir: string): void {
  const others = existsSync(kept) ? readdirSync(dir).map((entry) => join(dir, entry)) : [dir];
  for (const path of others) if (path !== kept) rmSync(path, { recursive: true, force: true });
}
