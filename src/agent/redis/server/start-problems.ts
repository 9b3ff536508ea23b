import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { renderStartFile } from '../../../domain/redis/start-file.ts';
import type { RedisAgentSettings } from '../settings.ts';
import { socketProblem } from './answers.ts';
import { freePort, portProblem } from './ports.ts';
import { withThrowAway } from './throw-away/throw-away.ts';

/** Why no server can be started here, whatever its start file says: all reasons at once. */
export async function placeProblems({ dataDir, socket }: RedisAgentSettings['paths']): Promise<readonly string[]> {
  const problems = [await folderProblem(dataDir), socketProblem(socket)];
  return problems.filter((problem) => problem !== undefined);
}

async function folderProblem(folder: string): Promise<string | undefined> {
  try {
    if (!(await stat(folder)).isDirectory()) return `${folder} is no folder: see --data-dir`;
    await access(folder, constants.W_OK | constants.X_OK);
    return undefined;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return `the data folder ${folder} is missing: mount a volume there, or see --data-dir`;
    return `the data folder ${folder} is not writable for this user (${code}): see fsGroup of the pod, and the volume`;
  }
}

/**
 * Why a server ended at its start. Its output goes where ours goes and cannot be read, so the same file is tried on a
 * throw-away server, away from data, ports and other nodes.
 */
export async function startProblem(settings: RedisAgentSettings, startFile: string): Promise<string> {
  const taken = await portProblem(startFile);
  if (taken !== undefined) return taken;
  const tlsPort = /^tls-port [1-9]/m.test(startFile) ? String(await freePort()) : '0';
  const apart = renderStartFile([
    ['bind', '127.0.0.1'],
    ['tls-port', tlsPort],
    ['replicaof', 'no one'],
    ['cluster-enabled', 'no'],
    ['save', ''],
    ['appendonly', 'no'],
  ]);
  const text = `${startFile}\n${apart}`;
  const result = await withThrowAway(
    { redisServer: settings.redisServer, startFile: () => text },
    async () => {},
  ).catch(
    (error: Error) => ({ ok: false, words: `its words are in the log of this container (${error.message})` }) as const,
  );
  if (!result.ok) return result.words;
  return `with an empty folder it starts, so it is its data in ${settings.paths.dataDir} that it cannot load: its own words are in the log of this container`;
}
