import { randomUUID } from 'node:crypto';
import { linkSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isAlive, ownIdentity, type ProcessIdentity } from '../runtime/process-identity.ts';
import { ifPresent } from './folders.ts';
import { onExit } from './processes/exit-hooks.ts';

export interface LockOptions {
  /** Called once if another process holds the lock, with its pid. */
  readonly onWait: (holder: number) => void;
  readonly signal?: AbortSignal | undefined;
}

/** Runs `work` while this process alone holds the lock at `path`; a lock whose holder has died is taken over. */
export async function withLock<T>(path: string, options: LockOptions, work: () => Promise<T>): Promise<T> {
  mkdirSync(dirname(path), { recursive: true });
  const mine = `${path}.${randomUUID()}`;
  let isHeld = false;
  const release = () => {
    if (isHeld) rmSync(path, { force: true });
    rmSync(mine, { force: true });
  };
  const removeHook = onExit(release);
  try {
    writeFileSync(mine, JSON.stringify({ ...ownIdentity(), nonce: mine }));
    await take(path, mine, options);
    isHeld = true;
    for (const file of leftovers(path)) rmSync(file, { force: true });
    return await work();
  } finally {
    release();
    removeHook();
  }
}

/** 'stale': a process that was killed has left its files. */
export function lockState(path: string): 'free' | 'held' | 'stale' {
  const held = read(path);
  if (held !== undefined) return isAlive(JSON.parse(held)) ? 'held' : 'stale';
  return leftovers(path).length > 0 ? 'stale' : 'free';
}

/** The lock file is a hard link to a complete file, so that nobody ever reads half of it. */
async function take(path: string, mine: string, { onWait, signal }: LockOptions): Promise<void> {
  for (let isWaiting = false; !link(mine, path); ) {
    const held = read(path);
    if (held === undefined) continue; // released just now
    const holder: ProcessIdentity = JSON.parse(held);
    if (isAlive(holder)) {
      if (!isWaiting) onWait(holder.pid);
      isWaiting = true;
      await delay(100, undefined, { signal });
    } else {
      removeStale(path, mine, held);
    }
  }
}

/**
 * Moves the lock of a dead holder away. Several processes may do this at once, and one of them may have taken the lock
 * meanwhile: whoever finds that he has moved that new lock puts it back.
 */
function removeStale(path: string, mine: string, stale: string): void {
  const aside = `${mine}.stale`;
  ifPresent(() => renameSync(path, aside));
  const moved = read(aside);
  if (moved !== undefined && moved !== stale) link(aside, path);
  rmSync(aside, { force: true });
}

/** Files of processes that were killed while they waited for the lock or held it. */
function leftovers(path: string): readonly string[] {
  const names = readdirSync(dirname(path)).filter((entry) => entry.startsWith(`${basename(path)}.`));
  const files = names.map((name) => join(dirname(path), name));
  return files.filter((file) => {
    const text = read(file);
    // A file without its end is being written at this moment.
    return text?.endsWith('}') && !isAlive(JSON.parse(text));
  });
}

/** False when `to` exists. */
function link(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

const read = (path: string): string | undefined => ifPresent(() => readFileSync(path, 'utf8'));
