import { REDIS_PORT } from '../../../domain/redis/role.ts';
import type { RedisAgentMetrics } from '../../../telemetry/metric-tables/redis-agent.ts';
import { messageOf } from '../../run-agent.ts';
import type { Redis } from '../connection/redis.ts';
import type { RedisAgentSettings } from '../settings.ts';
import { runningPart } from '../tune.ts';
import { setRedisGauges } from './redis-gauges.ts';

/** What the pages are about. */
export interface Shown {
  readonly settings: RedisAgentSettings;
  readonly redis: Redis;
  readonly metrics: RedisAgentMetrics;
  isFenced(): boolean;
  /** False where Redis is known not to run. */
  mayRun(): boolean;
  isIsolated(): Promise<boolean>;
}

export interface Answer {
  readonly status: number;
  readonly body: string;
  readonly type?: string;
}

interface Asked {
  readonly query: URLSearchParams;
  /** The address of whoever asks. */
  readonly from: string;
}

interface Page {
  readonly methods: readonly string[];
  readonly answer: (shown: Shown, asked: Asked) => Promise<Answer>;
}

const READS = ['GET', 'HEAD'];
const OK: Answer = { status: 200, body: 'ok' };

/** Every path that is served. Probes take any method, as those of the operator that Attune replaces do. */
export const PAGES: Readonly<Record<string, Page>> = {
  '/healthz': { methods: [], answer: healthz },
  '/readyz': { methods: [], answer: readyz },
  '/metrics': { methods: [], answer: metrics },
  '/v1/status': { methods: READS, answer: status },
  '/v1/promote': { methods: ['POST'], answer: promote },
  '/v1/demote': { methods: ['POST'], answer: demote },
};

/** Does not depend on Redis: one that loads for an hour, or hangs, is not helped by a new container. */
async function healthz(shown: Shown): Promise<Answer> {
  if (shown.isFenced() || !shown.mayRun()) return OK;
  if (await shown.isIsolated())
    return { status: 503, body: 'this primary reaches neither the API server nor any other pod' };
  return OK;
}

async function readyz({ isFenced, mayRun, redis }: Shown): Promise<Answer> {
  if (isFenced()) return { status: 503, body: 'this pod is fenced' };
  if (!mayRun()) return { status: 503, body: 'Redis does not run' };
  try {
    await redis.send('PING');
    return OK;
  } catch (error) {
    return { status: 503, body: messageOf(error) };
  }
}

async function metrics({ metrics: table, settings, redis, isFenced, mayRun }: Shown): Promise<Answer> {
  await setRedisGauges(table, settings, mayRun() ? redis : undefined, isFenced());
  return { status: 200, body: table.render(), type: 'text/plain; version=0.0.4; charset=utf-8' };
}

async function status({ redis, mayRun }: Shown): Promise<Answer> {
  if (!mayRun()) return { status: 500, body: 'Redis does not run' };
  const { keys: _, ...entry } = await runningPart(redis);
  return { status: 200, body: JSON.stringify(entry), type: 'application/json' };
}

async function promote({ redis }: Shown, { from }: Asked): Promise<Answer> {
  if (!isLoopback(from)) return ELSEWHERE;
  await redis.send('REPLICAOF', 'NO', 'ONE');
  return { status: 200, body: 'promoted' };
}

async function demote({ redis, settings }: Shown, { from, query }: Asked): Promise<Answer> {
  if (!isLoopback(from)) return ELSEWHERE;
  const ip = query.get('primaryIP') ?? '';
  const port = query.get('port') ?? String(REDIS_PORT);
  const problems = [
    /^[\w.:%-]+$/.test(ip) ? '' : 'primaryIP must be the address of the primary',
    ip !== '' && ip === settings.podIp ? "primaryIP is this pod's own address" : '',
    /^\d{1,5}$/.test(port) && Number(port) > 0 && Number(port) < 65_536 ? '' : 'port must be a number from 1 to 65535',
  ].filter((problem) => problem !== '');
  if (problems.length > 0) return { status: 400, body: problems.join('; ') };
  await redis.send('REPLICAOF', ip, port);
  return { status: 200, body: 'demoted' };
}

const ELSEWHERE: Answer = {
  status: 403,
  body: 'only from this pod itself: kubectl exec, and curl to 127.0.0.1; or set status.currentPrimary of the RedisCluster',
};

/** Whoever can reach the pod must not be able to change who is primary. */
export const isLoopback = (address: string): boolean => /^(::ffff:)?127\.|^::1$/.test(address);
