import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach } from 'vitest';
import { connectRedis } from '../../src/agent/redis/connection/connect.ts';
import type { Reply } from '../../src/agent/redis/connection/redis.ts';
import type { ServerEnd } from '../../src/agent/redis/server/processes/follow.ts';
import { processesIn } from '../../src/agent/redis/server/processes/process-table.ts';
import { ServerProcess } from '../../src/agent/redis/server/server-process.ts';
import type { RedisAgentSettings } from '../../src/agent/redis/settings.ts';
import { renderStartFile } from '../../src/domain/redis/start-file.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { until } from './wait.ts';

/** The folders of the test that runs; each has its own. */
export let root = '';
export let dataDir = '';
let socket = '';
/** What the agents were told. */
export let ends: ServerEnd[] = [];
/** What the agents have written to their logs. */
export let logged = '';
/** Which test runs: what the agents of one before it still hear, of servers that were killed at its end, is not this one's. */
let turn = 0;
/** Other processes that are to end with the test. */
export const others: number[] = [];

beforeEach(async () => {
  root = await mkdtemp('/tmp/sp-');
  dataDir = await mkdtemp(join(root, 'd'));
  socket = join(root, 's');
  ends = [];
  logged = '';
  turn += 1;
});

/** Every redis-server on the data folder, whoever started it. */
export const servers = (): readonly number[] =>
  processesIn(dataDir, (name) => name === 'redis-server').map(({ pid }) => pid);

afterEach(async () => {
  for (const pid of [...others.splice(0), ...servers()]) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It is gone already.
    }
  }
  await until(() => servers().length === 0, { what: 'no server is left' });
  await rm(root, { recursive: true, force: true });
});

export const settings = (changes: Partial<RedisAgentSettings> = {}): RedisAgentSettings => ({
  clusterName: 'redis',
  podName: 'redis-0',
  podNamespace: 'default',
  podIp: '',
  mode: 'parent',
  strict: false,
  paths: { dataDir, stateDir: join(root, 'state'), secretsDir: '', tlsDir: '', aclFile: '', socket },
  redisServer: 'redis-server',
  redisAddress: { host: '127.0.0.1', port: 6379 },
  bindAddress: '',
  listen: { host: '', port: 0 },
  stopTimeoutMs: 20_000,
  resyncMs: 30_000,
  statusIntervalMs: 5000,
  ...changes,
});

/** An agent that has just come, and knows only what is on disk. */
export function agent(changes: Partial<RedisAgentSettings> = {}): ServerProcess {
  const own = turn;
  const write = (line: string): void => {
    if (own === turn) logged += line;
  };
  return new ServerProcess({
    settings: settings(changes),
    log: createLog({ format: '', level: 'debug', write, now: () => 0 }),
    clock: systemClock,
    onEnd: (end) => {
      if (own === turn) ends.push(end);
    },
  });
}

export const startFile = (...more: readonly (readonly [string, string])[]): string =>
  renderStartFile([
    ['port', '0'],
    ['unixsocket', socket],
    ['dir', dataDir],
    ['logfile', join(root, 'log')],
    ['enable-debug-command', 'yes'],
    ...more,
  ]);

export async function send(...words: readonly string[]): Promise<Reply> {
  const redis = await connectRedis({ path: socket }, { credentials: () => [{ user: 'default', password: undefined }] });
  try {
    return await redis.send(...words);
  } finally {
    redis.close();
  }
}

/** What Redis itself has written. */
export const log = (): Promise<string> => readFile(join(root, 'log'), 'utf8');
export const timesLogged = async (words: string): Promise<number> => (await log()).split(words).length - 1;
