import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { connectRedis, type RedisConnection } from '../../../src/agent/redis/connection/connect.ts';
import type { Credential, Redis } from '../../../src/agent/redis/connection/redis.ts';
import type { RedisTarget } from '../../../src/agent/redis/connection/target.ts';
import { parseInfo } from '../../../src/domain/redis/info.ts';
import { until } from '../../support/wait.ts';
import type { RedisNode } from './redis-node.ts';
import type { TestCluster } from './redis-world.ts';

/** How often a command was carried out since the start of a Redis: `config|set`, `replicaof`. */
export async function calls(redis: Redis, command: string): Promise<number> {
  const stats = await infoOf(redis, 'commandstats');
  return Number(/calls=(\d+)/.exec(stats.get(`cmdstat_${command}`) ?? '')?.[1] ?? 0);
}

export const infoOf = async (redis: Redis, section: string): Promise<ReadonlyMap<string, string>> =>
  parseInfo(String(await redis.send('INFO', section)));

/** From now on a Redis remembers every command in {@link remembered}. */
export async function remember(redis: Redis): Promise<void> {
  await redis.send('CONFIG', 'SET', 'slowlog-log-slower-than', '0', 'slowlog-max-len', '100000');
  await redis.send('SLOWLOG', 'RESET');
}

/** The commands since {@link remember}, the oldest first, each with its words. */
export async function remembered(redis: Redis): Promise<readonly (readonly string[])[]> {
  const entries = (await redis.send('SLOWLOG', 'GET', '-1')) as readonly (readonly unknown[])[];
  return entries.map(([, , , words]) => (words as readonly string[]).map(String)).toReversed();
}

/** How many passes an agent has made. */
export async function passes(node: RedisNode): Promise<number> {
  const { body } = await node.ask('/metrics');
  const counts = body.matchAll(/^attune_agent_passes_total\{[^}]*\} (\d+)$/gm);
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}

/** Wakes an agent by the files of its Secrets, which are the same as before, and waits until a pass is over. */
export async function anotherPass(node: RedisNode): Promise<void> {
  // Twice: a pass may have been under way that had read them already.
  for (let round = 0; round < 2; round += 1) {
    const before = await until(() => passes(node), { what: `the agent of ${node.name} serves` });
    await node.project({});
    await until(async () => (await passes(node)) > before, { what: `a pass of ${node.name}` });
  }
}

/** A connection as somebody; close it at the end. */
export const connectAs = (
  target: RedisTarget,
  user: string,
  password: string | undefined,
): Promise<RedisConnection> => {
  const credential: Credential = { user, password };
  return connectRedis(target, { credentials: () => [credential] });
};

/** Whether somebody gets in with this password. */
export async function letsIn(target: RedisTarget, password: string | undefined, user = 'default'): Promise<boolean> {
  const connection = await connectAs(target, user, password).catch((error: Error) => {
    if (/WRONGPASS|NOAUTH/.test(error.message)) return undefined;
    throw error;
  });
  connection?.close();
  return connection !== undefined;
}

/** Where an agent or its Redis, or the cluster, shows one of these texts: nowhere, if they are secrets. */
export async function shownIn(cluster: TestCluster, secrets: readonly string[]): Promise<readonly string[]> {
  const places = new Map<string, string>([
    ['the object', JSON.stringify(await cluster.get().catch(() => ''))],
    ['Events', JSON.stringify(await cluster.events())],
  ]);
  for (const node of cluster.nodes) {
    places.set(`the log of ${node.name}`, node.lines.join('\n'));
    for (const path of ['/metrics', '/v1/status', '/healthz', '/readyz'])
      places.set(`${path} of ${node.name}`, (await node.ask(path).catch(() => ({ body: '' }))).body);
    places.set(`the start file of ${node.name}`, fileOf(node, 'redis.conf')?.text ?? '');
    for (const pid of [node.pid, ...node.servers]) places.set(`the arguments of process ${pid}`, argumentsOf(pid));
  }
  return [...places].flatMap(([place, text]) => (secrets.some((secret) => text.includes(secret)) ? [place] : []));
}

/** A file of the data folder, and who may read it. */
export function fileOf(node: RedisNode, name: string): { readonly text: string; readonly mode: number } | undefined {
  try {
    const path = join(node.folders.data, name);
    return { text: readFileSync(path, 'utf8'), mode: statSync(path).mode & 0o777 };
  } catch {
    return undefined;
  }
}

function argumentsOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}
