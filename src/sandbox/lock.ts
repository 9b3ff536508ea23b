import { randomUUID } from 'node:crypto';
import { linkSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { atExit } from './processes/at-exit.ts';
import { isAlive, ownIdentity, type ProcessIdentity } from './processes/process-identity.ts';

export interface Waiting {
  /** Told once when somebody else holds the lock, with his pid. */
  readonly waiting: (holder: number) => void;
  readonly signal?: AbortSignal | undefined;
}

/** Runs `work` while this process alone holds the lock at `path`; a lock whose holder has died is taken over. */
export async function locked<T>(path: string, options: Waiting, work: () => Promise<T>): Promise<T> {
  mkdirSync(dirname(path), { recursive: true });
  const mine = `${path}.${randomUUID()}`;
  let isHeld = false;
  const giveBack = () => {
    if (isHeld) rmSync(path, { force: true });
    rmSync(mine, { force: true });
  };
  const callOff = atExit(giveBack);
  try {
    writeFileSync(mine, JSON.stringify({ ...ownIdentity(), nonce: mine }));
    await take(path, mine, options);
    isHeld = true;
    removeLeftovers(path);
    return await work();
  } finally {
    giveBack();
    callOff();
  }
}

/** Who has a lock: nobody, a living process, or one that was killed and has left its files. */
export function lockState(path: string): 'free' | 'held' | 'left' {
  const held = read(path);
  if (held !== undefined) return isAlive(JSON.parse(held)) ? 'held' : 'left';
  return leftovers(path).length > 0 ? 'left' : 'free';
}

/** The lock file appears complete or not at all: it is a second name of a file that was written before. */
async function take(path: string, mine: string, { waiting, signal }: Waiting): Promise<void> {
  for (let told = false; !linked(mine, path); ) {
    const held = read(path);
    if (held === undefined) continue; // given back just now
    const holder: ProcessIdentity = JSON.parse(held);
    if (isAlive(holder)) {
      if (!told) waiting(holder.pid);
      told = true;
      await delay(100, undefined, { signal });
    } else {
      removeStale(path, mine, held);
    }
  }
}

/** Two may see the same dead holder; who moves away a lock that a third has taken meanwhile puts it back. */
function removeStale(path: string, mine: string, stale: string): void {
  const aside = `${mine}.stale`;
  try {
    renameSync(path, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  if (read(aside) !== stale) linked(aside, path);
  rmSync(aside, { force: true });
}

function removeLeftovers(path: string): void {
  for (const file of leftovers(path)) rmSync(file, { force: true });
}

/** Files of those who were killed while they waited or held the lock. */
function leftovers(path: string): readonly string[] {
  const files = readdirSync(dirname(path)).filter((entry) => entry.startsWith(`${basename(path)}.`));
  return files
    .map((entry) => join(dirname(path), entry))
    .filter((file) => {
      const text = read(file);
      // One that is just being written is not complete, and not left over.
      return text?.endsWith('}') && !isAlive(JSON.parse(text));
    });
}

function linked(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
