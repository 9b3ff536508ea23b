import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Progress } from './binaries/release.ts';
import { type Environment, isSandboxName, sandboxesFolder } from './folders.ts';
import { locked, lockState } from './lock.ts';
import { clearAway, isAbandoned, isRemnant, readRecord } from './sandbox-record.ts';

/**
 * Clears away what those left who were killed: sandboxes that belonged to them, folders that were half removed, locks.
 * What a living process holds is its own business.
 */
export async function clearAbandoned(env: Environment, progress: Progress, signal?: AbortSignal): Promise<void> {
  for (const name of namesIn(sandboxesFolder(env))) {
    const dir = join(sandboxesFolder(env), name);
    const lock = `${dir}.lock`;
    const state = lockState(lock);
    if (state === 'held' || (state === 'free' && !isLeft(dir))) continue;
    await locked(lock, { waiting: () => {}, signal }, async () => {
      if (!isLeft(dir)) return;
      const record = readRecord(dir);
      const died = record?.owner ? `, whose process ${record.owner.pid} has died` : '';
      progress(`clearing away the sandbox ${name}${died}`);
      await clearAway(dir, record?.keep ?? false);
    });
  }
}

const isLeft = (dir: string): boolean => isAbandoned(readRecord(dir)) || isRemnant(dir);

/** Of the folders, and of the locks beside them. */
function namesIn(folder: string): readonly string[] {
  const names = readdirSync(folder).map((entry) => entry.replace(/\.lock(\..*)?$/, ''));
  return [...new Set(names)].filter(isSandboxName);
}
