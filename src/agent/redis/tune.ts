import type { InstanceEntry, Problem } from '../../domain/redis/cluster-view.ts';
import { keysIn, parseInfo, type Replication, replicationOf } from '../../domain/redis/info.ts';
import { messageOf } from '../run-agent.ts';
import type { LocalRedis } from './connection/local-redis.ts';
import { type Redis, RedisUnreachable } from './connection/redis.ts';
import type { Pods } from './pods.ts';
import type { createConfigStep } from './steps/config/config-step.ts';
import { applyRole } from './steps/role.ts';
import type { createSecretsStep } from './steps/secrets/secrets-step.ts';
import type { StepContext } from './steps/step.ts';
import type { createTlsStep } from './steps/tls/tls-step.ts';

export interface Steps {
  readonly config: ReturnType<typeof createConfigStep>;
  readonly secrets: ReturnType<typeof createSecretsStep>;
  readonly tls: ReturnType<typeof createTlsStep>;
}

/** What a pass over a running Redis has come to. */
export interface Tuned {
  readonly entry: InstanceEntry;
  /** How much was changed live, and proven. */
  readonly changed: { readonly config: number; readonly certificates: number };
  /** The role could not be had: the pass counts as failed. */
  readonly failure: unknown;
  /** Steps that have failed, with why. */
  readonly failed: readonly Problem[];
  readonly againAfterMs: number | undefined;
}

/** The pass ends in the middle: a fence, or the end of the agent, does not wait for the rest of it. */
export class CalledOff extends Error {
  override readonly name = 'CalledOff';
}

/** The context of a Redis of which it is known whether it is there. */
type LocalContext = StepContext & { readonly redis: Pick<LocalRedis, 'send' | 'isConnected'> };

/**
 * Role, configuration, secrets, certificates: each is tried, whatever became of the ones before it. Only a Redis that does
 * not answer is not asked again: each of them would wait for it.
 */
export async function tune(context: LocalContext, steps: Steps, pods: Pods, isOff: () => boolean): Promise<Tuned> {
  const { cluster, log, redis } = context;
  const failed: Problem[] = [];
  let failure: unknown;
  const attempt = async <T>(step: string, work: () => Promise<T>): Promise<T | undefined> => {
    if (isOff()) throw new CalledOff();
    try {
      return await work();
    } catch (error) {
      if (error instanceof RedisUnreachable && !redis.isConnected) throw error;
      if (step === 'role') failure = error;
      failed.push({ where: step, what: messageOf(error) });
      log.error(`${step} could not be brought to what is wanted`, { error: messageOf(error) });
      return undefined;
    }
  };
  await attempt('role', () => applyRole(context, pods));
  const config = await attempt('config', () => steps.config.apply(context));
  const secrets = await attempt('secrets', () => steps.secrets.apply(context));
  const tls = await attempt('TLS', () => steps.tls.apply(context));
  if (isOff()) throw new CalledOff();
  const running = await runningPart(redis);
  // Of what could not be looked at, what was said last stays.
  const last = cluster.instances.get(context.settings.podName);
  const keys = config && (Object.keys(config.keys).length > 0 ? config.keys : undefined);
  const entry: InstanceEntry = {
    ...running,
    ...standing([...cluster.problems, ...failed, ...(secrets?.problems ?? []), ...(tls?.problems ?? [])]),
    observedGeneration: cluster.generation,
    config: config ? keys : last?.config,
    credentials: secrets ? secrets.credentials : last?.credentials,
    acl: secrets ? secrets.acl : last?.acl,
    tls: tls ? tls.tls : last?.tls,
  };
  const changed = { config: config?.changed.length ?? 0, certificates: tls?.rotated ? 1 : 0 };
  return {
    entry,
    changed,
    failure,
    failed,
    againAfterMs: soonest(secrets?.wakeAfterMs, tls?.wakeAfterMs, linkMs(running, context)),
  };
}

// Nothing tells that a link has come up; to look is cheap.
const LINK_MS = 1000;

/** Links that are to come up, of this replica or to this primary, are looked at again soon. */
function linkMs(
  { masterLinkStatus, connectedReplicas }: InstanceEntry,
  { peers, cluster }: StepContext,
): number | undefined {
  const awaited =
    cluster.mode === 'standalone' && !cluster.replicaMode && cluster.currentPrimary !== '' ? peers.size : 0;
  const isComplete = masterLinkStatus === undefined ? (connectedReplicas ?? 0) >= awaited : masterLinkStatus === 'up';
  return isComplete ? undefined : LINK_MS;
}

/** In one word, and in all words. */
export function standing(problems: readonly Problem[]): Pick<InstanceEntry, 'state' | 'message'> {
  if (problems.length === 0) return { state: 'Running', message: undefined };
  return { state: 'Degraded', message: problems.map(({ where, what }) => `${where}: ${what}`).join('; ') };
}

/** What Redis says of itself. */
export async function runningPart(redis: Redis): Promise<InstanceEntry> {
  const replication = replicationOf(parseInfo(String(await redis.send('INFO', 'replication'))));
  const keys = keysIn(parseInfo(String(await redis.send('INFO', 'keyspace'))));
  return { ...replicationPart(replication), keys };
}

export const replicationPart = ({ role, offset, connectedReplicas, master }: Replication): InstanceEntry => ({
  role,
  connected: true,
  replicationOffset: offset,
  connectedReplicas: role === 'master' ? connectedReplicas : undefined,
  masterLinkStatus: role === 'slave' ? (master?.linkUp ? 'up' : 'down') : undefined,
});

const soonest = (...times: readonly (number | undefined)[]): number | undefined => {
  const known = times.filter((each) => each !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
};
