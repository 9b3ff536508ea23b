import { counter, gauge, histogram } from '../metric.ts';
import { createMetrics, type Metrics } from '../metrics.ts';

/** Every figure about Redis says whose it is. */
const WHOSE = ['namespace', 'cluster', 'pod', 'role'] as const;

const redis = (help: string) => gauge(WHOSE, help);

/** The metrics of an agent for Redis. */
export const REDIS_AGENT_METRICS = {
  redis_up: redis('1 if Redis answers PING.'),
  redis_fenced: redis('1 if the pod is fenced.'),
  redis_uptime_seconds: redis('How long Redis runs.'),
  redis_connected_clients: redis('Connections of clients.'),
  redis_blocked_clients: redis('Clients that wait in a blocking call.'),
  redis_maxclients: redis('The most clients that are let in.'),
  redis_memory_used_bytes: redis('Memory that the data and its overhead take.'),
  redis_memory_max_bytes: redis('maxmemory; 0: no limit.'),
  redis_memory_rss_bytes: redis('Resident memory of the process.'),
  redis_mem_fragmentation_ratio: redis('Resident memory divided by what is in use.'),
  redis_keys: redis('Keys in all databases.'),
  redis_expires: redis('Keys that expire.'),
  redis_evicted_keys: redis('Keys evicted since the start.'),
  redis_expired_keys: redis('Keys expired since the start.'),
  redis_keyspace_hits: redis('Look-ups that found a key, since the start.'),
  redis_keyspace_misses: redis('Look-ups that found none, since the start.'),
  redis_commands_processed: redis('Commands since the start.'),
  redis_connections_received: redis('Connections since the start.'),
  redis_rejected_connections: redis('Connections refused because of maxclients, since the start.'),
  redis_net_input_bytes: redis('Bytes received since the start.'),
  redis_net_output_bytes: redis('Bytes sent since the start.'),
  redis_loading: redis('1 while Redis loads its data.'),
  redis_rdb_changes_since_last_save: redis('Changes since the last dump.'),
  redis_rdb_last_bgsave_ok: redis('1 if the last dump in the background succeeded.'),
  redis_aof_enabled: redis('1 if the append-only file is on.'),
  redis_aof_last_write_ok: redis('1 if the last write to the append-only file succeeded.'),
  redis_connected_replicas: redis('Replicas that are connected.'),
  redis_replication_offset: redis('How far replication is, in bytes.'),
  redis_master_link_up: redis('1 if a replica is connected to its primary; 1 on a primary.'),
  attune_agent_passes_total: counter(['result'], 'Passes over everything that is wanted, by result.', {
    initial: [{ result: 'success' }, { result: 'error' }],
  }),
  attune_agent_pass_duration_seconds: histogram(
    [],
    [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    'How long a pass takes.',
  ),
  attune_agent_status_patches_total: counter(['result'], "Patches of this pod's entry in the status, by result.", {
    initial: [{ result: 'success' }, { result: 'error' }],
  }),
  attune_agent_live_changes_total: counter(
    ['what'],
    'Changes that were applied to a running Redis and proven, by what they were about.',
    { initial: ['config', 'password', 'certificates'].map((what) => ({ what })) },
  ),
  attune_agent_keys: gauge(
    ['state'],
    'Keys of spec.redis, by what has become of them: Applied, Refused, RestartNeeded.',
  ),
};

export type RedisAgentMetrics = Metrics<typeof REDIS_AGENT_METRICS>;

export const redisAgentMetrics = (): RedisAgentMetrics => createMetrics(REDIS_AGENT_METRICS);
