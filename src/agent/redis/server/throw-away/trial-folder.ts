import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ownIdentity } from '../../../../runtime/process-identity.ts';
import { killGroup, lives, processesIn, type Seen } from '../processes/process-table.ts';

const PREFIX = 'attune-trial-';
const OWNER = 'owner.json';

/** A folder for a throw-away server, which only this user may enter. */
export async function makeTrialFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), PREFIX));
  const { pid, startedAt } = ownIdentity();
  await writeFile(join(folder, OWNER), JSON.stringify({ pid, startedAt }));
  return folder;
}

export const removeTrialFolder = (folder: string): Promise<void> =>
  rm(folder, { recursive: true, force: true, maxRetries: 3 });

let swept: Promise<void> | undefined;

/** Once is enough for an agent: it removes its own. */
export function sweepOnce(): Promise<void> {
  swept ??= sweepTrialFolders();
  return swept;
}

/** Clears away the throw-away servers of agents that were killed. Never rejects: nothing depends on it. */
export async function sweepTrialFolders(): Promise<void> {
  const names = await readdir(tmpdir()).catch(() => []);
  const folders = names.filter((name) => name.startsWith(PREFIX)).map((name) => join(tmpdir(), name));
  await Promise.allSettled(folders.map(sweep));
}

async function sweep(folder: string): Promise<void> {
  // Without this file it is being made, or is somebody else's: it stays.
  const owner: Seen = JSON.parse(await readFile(join(folder, OWNER), 'utf8'));
  if (lives(owner)) return;
  for (const { group, pid } of processesIn(folder, () => true)) if (group === pid) await killGroup(group);
  await removeTrialFolder(folder);
}
