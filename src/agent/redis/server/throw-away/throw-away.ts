import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { renderStartFile } from '../../../../domain/redis/start-file.ts';
import { answersOn, socketProblem } from '../answers.ts';
import { programProblem } from '../program.ts';
import type { TrialResult } from '../trial.ts';
import { startWords } from './start-words.ts';
import { makeTrialFolder, removeTrialFolder } from './trial-folder.ts';

export interface ThrowAway {
  readonly redisServer: string;
  /** The text of the start file. The server's own folder, socket and log win over whatever it says. */
  readonly startFile: (folder: string) => string;
  /** The content of `users.acl` in the server's folder. */
  readonly acl?: string | undefined;
}

// A machine that has much else to do must not make a good value look bad.
const READY_MS = 20_000;
const ASK_EVERY_MS = 3;
/** A server that dies closes its connections a moment before it is gone. */
const ENDING_MS = 200;

/**
 * Runs a server in an empty folder for as long as `use` takes. It holds nothing and is worth nothing: whatever happens, it
 * is killed, and its folder is gone. `ok: false` where it does not come up, or does not live through `use`.
 */
export async function withThrowAway<T>(
  { redisServer, startFile, acl }: ThrowAway,
  use: (socket: string) => Promise<T>,
): Promise<TrialResult<T>> {
  const folder = await makeTrialFolder();
  let server: ChildProcess | undefined;
  try {
    const socket = join(folder, 's');
    const problem = socketProblem(socket);
    if (problem) throw new Error(`${problem} (TMPDIR decides)`);
    if (acl !== undefined) await writeFile(join(folder, 'users.acl'), acl, { mode: 0o600 });
    await writeFile(join(folder, 'redis.conf'), `${startFile(folder)}\n${ownLines(folder)}`, { mode: 0o600 });
    server = await launch(redisServer, folder);
    const lasting = await answersWithin(READY_MS, server, socket);
    if (lasting === 'silent') return { ok: false, words: `does not answer ${READY_MS / 1000} s after its start` };
    if (lasting === 'ended') return { ok: false, words: await wordsOf(server, folder) };
    try {
      return { ok: true, value: await use(socket) };
    } catch (error) {
      if (!(await endsWithin(ENDING_MS, server))) throw error;
      return { ok: false, words: await wordsOf(server, folder) };
    }
  } finally {
    if (server) await killed(server);
    await removeTrialFolder(folder);
  }
}

const ownLines = (folder: string): string =>
  renderStartFile([
    ['port', '0'],
    ['unixsocket', join(folder, 's')],
    ['unixsocketperm', '700'],
    ['dir', folder],
    ['daemonize', 'no'],
    ['supervised', 'no'],
    ['pidfile', ''],
    ['logfile', ''],
  ]);

async function launch(redisServer: string, folder: string): Promise<ChildProcess> {
  const output = openSync(join(folder, 'output'), 'a', 0o600);
  try {
    const server = spawn(redisServer, [join(folder, 'redis.conf')], {
      cwd: folder,
      detached: true,
      stdio: ['ignore', output, output],
    });
    await once(server, 'spawn');
    return server;
  } catch (error) {
    throw new Error(programProblem(redisServer, error), { cause: error });
  } finally {
    closeSync(output);
  }
}

const hasEnded = (server: ChildProcess): boolean => (server.exitCode ?? server.signalCode) !== null;

async function endsWithin(ms: number, server: ChildProcess): Promise<boolean> {
  const deadline = performance.now() + ms;
  while (!hasEnded(server) && performance.now() < deadline) await delay(ASK_EVERY_MS);
  return hasEnded(server);
}

async function answersWithin(ms: number, server: ChildProcess, socket: string): Promise<'up' | 'ended' | 'silent'> {
  const deadline = performance.now() + ms;
  while (performance.now() < deadline) {
    if (hasEnded(server)) return 'ended';
    if (await answersOn(socket)) return 'up';
    await delay(ASK_EVERY_MS);
  }
  return 'silent';
}

async function wordsOf(server: ChildProcess, folder: string): Promise<string> {
  const words = startWords(await readFile(join(folder, 'output'), 'utf8'), folder);
  if (words !== undefined) return words;
  if (server.exitCode === null) return `redis-server crashes with it (${server.signalCode})`;
  return `redis-server ends with exit code ${server.exitCode}, and does not say why`;
}

async function killed(server: ChildProcess): Promise<void> {
  const exit = hasEnded(server) ? undefined : once(server, 'exit');
  try {
    process.kill(-(server.pid ?? 0), 'SIGKILL'); // with the children that it may have
  } catch {
    // Nobody is left.
  }
  await exit;
}
