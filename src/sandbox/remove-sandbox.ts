import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isAlive } from '../runtime/process-identity.ts';
import { volumesFolder } from './pods/pod-volumes.ts';
import { daemonsIn, killSync, removePidFile, terminate } from './processes/daemon.ts';
import { logsFolder } from './processes/process-logs.ts';
import { killProcessesIn } from './processes/processes-in.ts';
import { readStateFile, writeStateFile } from './state-file.ts';

/** Ends every process of a sandbox and removes its folder, except for data and logs that are to be kept. */
export async function removeSandbox(dir: string, keepData: boolean, keepLogs = false): Promise<void> {
  // The pod runner goes first: as long as it lives, it starts further processes.
  const podRunner = daemonsIn(dir).get('pods');
  if (podRunner) await terminate(podRunner, 0);
  await Promise.all(
    Array.from(daemonsIn(dir), async ([name, identity]) => {
      // Only etcd has data to write before it ends, and only when they are kept.
      await terminate(identity, keepData && name === 'etcd' ? 10_000 : 0);
      removePidFile(dir, name);
    }),
  );
  killProcessesIn(volumesFolder(dir));
  removeFiles(dir, keepData, keepLogs);
}

/** The same without promises, for exit hooks. Does nothing to a sandbox that does not belong to this process. */
export function removeOwnSandboxSync(dir: string, keepData: boolean): void {
  const owner = readStateFile(dir)?.owner;
  if (owner?.pid !== process.pid || !isAlive(owner)) return;
  const podRunner = daemonsIn(dir).get('pods');
  if (podRunner) killSync([podRunner]);
  const daemons = daemonsIn(dir);
  // A process that does not die keeps its pid file, so that the next start tries again.
  if (!killSync([...daemons.values()]) || !killProcessesIn(volumesFolder(dir))) return;
  for (const name of daemons.keys()) removePidFile(dir, name);
  removeFiles(dir, keepData, false);
}

function removeFiles(dir: string, keepData: boolean, keepLogs: boolean): void {
  const state = readStateFile(dir);
  const logs = logsFolder(dir);
  if (!keepLogs) rmSync(logs, { recursive: true, force: true });
  if (keepData) {
    if (state) writeStateFile(dir, { ...state, owner: undefined, server: undefined, keep: true, ready: false });
    return;
  }
  const paths = existsSync(logs) ? readdirSync(dir).map((entry) => join(dir, entry)) : [dir];
  for (const path of paths) if (path !== logs) rmSync(path, { recursive: true, force: true });
}
