import { keysIn, parseInfo } from '../../../domain/redis/info.ts';
import { REDIS_AGENT_METRICS, type RedisAgentMetrics } from '../../../telemetry/metric-tables/redis-agent.ts';
import type { Redis } from '../connection/redis.ts';
import type { RedisAgentSettings } from '../settings.ts';

type Gauge = Parameters<RedisAgentMetrics['set']>[0] & `redis_${string}`;

/** From a field of INFO to the gauge that shows it; a word in the second place means 1. */
const FROM_INFO: Readonly<Partial<Record<Gauge, readonly [field: string, word?: string]>>> = {
  redis_uptime_seconds: ['uptime_in_seconds'],
  redis_connected_clients: ['connected_clients'],
  redis_blocked_clients: ['blocked_clients'],
  redis_maxclients: ['maxclients'],
  redis_memory_used_bytes: ['used_memory'],
  redis_memory_max_bytes: ['maxmemory'],
  redis_memory_rss_bytes: ['used_memory_rss'],
  redis_mem_fragmentation_ratio: ['mem_fragmentation_ratio'],
  redis_evicted_keys: ['evicted_keys'],
  redis_expired_keys: ['expired_keys'],
  redis_keyspace_hits: ['keyspace_hits'],
  redis_keyspace_misses: ['keyspace_misses'],
  redis_commands_processed: ['total_commands_processed'],
  redis_connections_received: ['total_connections_received'],
  redis_rejected_connections: ['rejected_connections'],
  redis_net_input_bytes: ['total_net_input_bytes'],
  redis_net_output_bytes: ['total_net_output_bytes'],
  redis_loading: ['loading'],
  redis_rdb_changes_since_last_save: ['rdb_changes_since_last_save'],
  redis_rdb_last_bgsave_ok: ['rdb_last_bgsave_status', 'ok'],
  redis_aof_enabled: ['aof_enabled'],
  redis_aof_last_write_ok: ['aof_last_write_status', 'ok'],
  redis_connected_replicas: ['connected_slaves'],
};

const GAUGES = Object.keys(REDIS_AGENT_METRICS).filter((name): name is Gauge => name.startsWith('redis_'));

/** Asks Redis, and sets every gauge about it. A Redis that does not answer is told as down, and nothing else of it. */
export async function setRedisGauges(
  metrics: RedisAgentMetrics,
  { podNamespace: namespace, clusterName: cluster, podName: pod }: RedisAgentSettings,
  redis: Redis | undefined,
  isFenced: boolean,
): Promise<void> {
  // The role is a label, and it changes.
  for (const name of GAUGES) metrics.reset(name);
  const answer = await redis?.send('INFO', 'everything').catch(() => undefined);
  const info = typeof answer === 'string' ? parseInfo(answer) : undefined;
  const role = info?.get('role') ?? '';
  const set = (name: Gauge, value: number): void => {
    if (Number.isFinite(value)) metrics.set(name, { namespace, cluster, pod, role }, value);
  };
  set('redis_up', info ? 1 : 0);
  set('redis_fenced', isFenced ? 1 : 0);
  if (!info) return;
  for (const [name, [field, word]] of Object.entries(FROM_INFO)) {
    const value = info.get(field);
    if (value !== undefined) set(name as Gauge, word === undefined ? Number(value) : Number(value === word));
  }
  const isPrimary = role === 'master';
  set('redis_keys', keysIn(info));
  set('redis_expires', expiresIn(info));
  set('redis_replication_offset', Number(info.get(isPrimary ? 'master_repl_offset' : 'slave_repl_offset')));
  set('redis_master_link_up', isPrimary || info.get('master_link_status') === 'up' ? 1 : 0);
}

function expiresIn(info: ReadonlyMap<string, string>): number {
  let sum = 0;
  for (const [field, value] of info) if (/^db\d+$/.test(field)) sum += Number(/expires=(\d+)/.exec(value)?.[1] ?? 0);
  return sum;
}
