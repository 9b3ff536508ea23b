import type { KubeClient } from '../../kube/client.ts';
import { EventSink } from '../../kube/events/event-sink.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Log } from '../../telemetry/log.ts';
import { redisAgentMetrics } from '../../telemetry/metric-tables/redis-agent.ts';
import { runAgent } from '../run-agent.ts';
import { RedisEngine } from './engine.ts';
import { isIsolated } from './http/isolation.ts';
import { serve } from './http/server.ts';
import { Instance } from './instance.ts';
import type { RedisAgentSettings } from './settings.ts';
import { StrictRedisEngine } from './strict/strict-engine.ts';
import { StrictSteps } from './strict/strict-steps.ts';

export interface RedisAgentDeps {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly version: string;
}

const NAME = 'instance-reconciler';
const FAREWELL_MS = 500;

/** Runs the agent until the signal, or until Redis ends by itself; gives the exit code. */
export async function runRedisAgent(
  settings: RedisAgentSettings,
  deps: RedisAgentDeps,
  signal: AbortSignal,
): Promise<number> {
  const { client, clock, log, version } = deps;
  const { podName: pod, podNamespace: namespace, clusterName: cluster, mode, strict, listen } = settings;
  log.info(`Starting ${NAME}: Attune ${version}`, {
    controller: NAME,
    cluster: `${namespace}/${cluster}`,
    pod,
    mode,
    strict,
  });
  const metrics = redisAgentMetrics();
  const events = new EventSink({
    client,
    clock,
    report: {
      dropping: (cause) => log.warn('Events are dropped', { cause }),
      dropped: (cause, count) => log.warn('Events were dropped', { cause, count }),
      refused: (error) => log.error('an Event was refused', { error: error.message }),
    },
  });
  const strictSteps = strict ? new StrictSteps() : undefined;
  const parts = { client, clock, log, metrics, post: (event: Parameters<EventSink['post']>[0]) => events.post(event) };
  const instance = new Instance(settings, parts, strictSteps);
  const engine = strictSteps ? new StrictRedisEngine(instance, strictSteps) : new RedisEngine(instance);
  const server = serve(
    {
      settings,
      metrics,
      redis: instance.redis,
      isFenced: () => instance.fence.isFenced,
      mayRun: () => instance.mayRun,
      isIsolated: async () => {
        const { cluster: seen } = instance;
        // A sidecar that is started anew keeps nobody from writing to Redis.
        if (!seen?.isolation.enabled || settings.mode === 'sidecar' || (await instance.role()) !== 'master')
          return false;
        return await isIsolated(seen, settings, { client, pods: instance.pods });
      },
    },
    { log, clock, listen },
  );
  const passed = (ok: boolean, ms: number): void => {
    metrics.increment('attune_agent_passes_total', { result: ok ? 'success' : 'error' });
    metrics.observe('attune_agent_pass_duration_seconds', {}, ms / 1000);
  };
  try {
    return await runAgent(engine, { client, clock, log, passed }, signal);
  } finally {
    await Promise.all([events.close(FAREWELL_MS), server.close()]);
    client.close();
  }
}
