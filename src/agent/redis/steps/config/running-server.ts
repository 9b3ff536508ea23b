import { amountOf } from '../../../../domain/redis/config/amount.ts';
import type { ServerFacts } from '../../../../domain/redis/config/danger.ts';
import type { StartLine } from '../../../../domain/redis/config/start-line.ts';
import { parseInfo } from '../../../../domain/redis/info.ts';
import { type Redis, RedisRefusal, type Reply } from '../../connection/redis.ts';

/** What a server answers to CONFIG GET, by name. Names that it does not know are missing. */
export async function readParameters(redis: Redis, names: readonly string[]): Promise<ReadonlyMap<string, string>> {
  if (names.length === 0) return new Map();
  const reply = listOf(await redis.send('CONFIG', 'GET', ...names)).map(String);
  return new Map(
    reply.flatMap((name, at) => (at % 2 === 0 ? [[name.toLowerCase(), reply[at + 1] ?? ''] as const] : [])),
  );
}

export interface ServerIdentity {
  readonly version: string;
  /** Another one after each start. */
  readonly runId: string;
}

export async function readIdentity(redis: Redis): Promise<ServerIdentity> {
  const info = parseInfo(String(await redis.send('INFO', 'server')));
  return { version: info.get('redis_version') ?? '', runId: info.get('run_id') ?? '' };
}

const JUDGED_BY = [
  'databases',
  'maxclients',
  'maxmemory',
  'maxmemory-policy',
  'min-replicas-max-lag',
  'min-replicas-to-write',
];

/** The numbers by which changes are judged. */
export async function readFacts(redis: Redis): Promise<ServerFacts> {
  const parameters = await readParameters(redis, JUDGED_BY);
  const sections = ['memory', 'clients', 'persistence', 'replication', 'keyspace'];
  const info = parseInfo(String(await redis.send('INFO', ...sections)));
  const amount = (name: string): number => amountOf(parameters.get(name) ?? '') ?? 0;
  const most = amount('min-replicas-max-lag');
  const replicas = [...info].filter(([field]) => /^slave\d+$/.test(field)).map(([, value]) => value);
  const databases = [...info.keys()].flatMap((field) => /^db(\d+)$/.exec(field)?.[1] ?? []);
  return {
    isLoading: info.get('loading') === '1' || info.get('master_sync_in_progress') === '1',
    usedMemory: Number(info.get('used_memory') ?? 0),
    maxmemory: amount('maxmemory'),
    policy: parameters.get('maxmemory-policy') ?? '',
    clients: Number(info.get('connected_clients') ?? 0),
    maxclients: amount('maxclients'),
    isPrimary: info.get('role') === 'master',
    goodReplicas: replicas.filter((replica) => isGood(replica, most)).length,
    minReplicas: amount('min-replicas-to-write'),
    databases: amount('databases'),
    lastDatabase: Math.max(-1, ...databases.map(Number)),
  };
}

/** As Redis counts for `min-replicas-to-write`; a longest delay of 0 switches that off, and then every replica counts. */
function isGood(replica: string, mostLag: number): boolean {
  const [, lag] = /(?:^|,)lag=(\d+)/.exec(replica) ?? [];
  return /(?:^|,)state=online(?:,|$)/.test(replica) && (mostLag === 0 || Number(lag ?? Number.NaN) <= mostLag);
}

/** Whether the server was started with a line, by what it knows. */
export async function hasLine(redis: Redis, line: StartLine): Promise<boolean> {
  try {
    return await (line.directive === 'loadmodule' ? hasModule(redis, line) : isRenamed(redis, line));
  } catch (error) {
    // Not everybody may ask.
    if (error instanceof RedisRefusal) return false;
    throw error;
  }
}

type Line<D extends StartLine['directive']> = Extract<StartLine, { readonly directive: D }>;

async function isRenamed(redis: Redis, { command, to }: Line<'rename-command'>): Promise<boolean> {
  const found = listOf(await redis.send('COMMAND', 'INFO', command, ...(to === '' ? [] : [to])));
  return found[0] === null && (to === '' || Array.isArray(found[1]));
}

async function hasModule(redis: Redis, { file, words }: Line<'loadmodule'>): Promise<boolean> {
  return listOf(await redis.send('MODULE', 'LIST')).some((module) => {
    const fields = listOf(module);
    const field = (name: string): Reply | undefined => fields[fields.indexOf(name) + 1];
    return field('path') === file && JSON.stringify(field('args')) === JSON.stringify(words);
  });
}

const listOf = (reply: Reply): readonly Reply[] => (Array.isArray(reply) ? (reply as readonly Reply[]) : []);
