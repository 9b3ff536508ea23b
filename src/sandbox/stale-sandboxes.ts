import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Environment, isSandboxName, sandboxesFolder } from './folders.ts';
import { lockState, withLock } from './lock.ts';
import { logsFolder } from './processes/process-logs.ts';
import type { Say } from './progress.ts';
import { removeSandbox } from './remove-sandbox.ts';
import { hasDeadOwner, readStateFile } from './state-file.ts';

/**
 * Removes what killed processes have left: sandboxes that belonged to them, folders that are half made or half removed,
 * and locks. Whatever a living process holds a lock on is left alone.
 */
export async function removeStaleSandboxes(env: Environment, say: Say, signal?: AbortSignal): Promise<void> {
  for (const name of namesIn(sandboxesFolder(env))) {
    const dir = join(sandboxesFolder(env), name);
    const lock = `${dir}.lock`;
    const state = lockState(lock);
    if (state === 'held' || (state === 'free' && !isStale(dir))) continue;
    // Taking a stale lock and giving it back removes its files.
    await withLock(lock, { onWait: () => {}, signal }, async () => {
      if (!isStale(dir)) return;
      const { owner, keep = false } = readStateFile(dir) ?? {};
      say(`clearing away the sandbox ${name}${owner ? `, whose process ${owner.pid} has died` : ''}`);
      await removeSandbox(dir, keep);
    });
  }
}

/** Without a state file a sandbox is half made or half removed. Logs alone are kept on purpose, after a failed start. */
function isStale(dir: string): boolean {
  const state = readStateFile(dir);
  if (state || !existsSync(dir)) return hasDeadOwner(state);
  return readdirSync(dir).some((entry) => join(dir, entry) !== logsFolder(dir));
}

/** The names of sandboxes that have a folder or a lock. */
function namesIn(folder: string): readonly string[] {
  const names = readdirSync(folder).map((entry) => entry.replace(/\.lock(\..*)?$/, ''));
  return [...new Set(names)].filter(isSandboxName);
}
