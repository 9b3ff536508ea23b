import type { ClusterView } from '../../../domain/redis/cluster-view.ts';
import { keysIn, parseInfo, type Replication, replicationOf } from '../../../domain/redis/info.ts';
import {
  emptyPrimary,
  REDIS_PORT,
  type RoleAction,
  roleAction,
  type Upstream,
  unfollowable,
  wantedRole,
} from '../../../domain/redis/role.ts';
import type { Redis } from '../connection/redis.ts';
import type { Pods } from '../pods.ts';
import type { StepContext } from './step.ts';

/** What INFO says about replication now. */
export async function replicationNow(redis: Redis): Promise<Replication> {
  return replicationOf(parseInfo(String(await redis.send('INFO', 'replication'))));
}

/** Whoever is to be followed must not be; any other error says nothing about it. */
export class Unfollowable extends Error {
  override readonly name = 'Unfollowable';
}

/** Whom this pod is to follow now; undefined: nobody. Fails where somebody is to be followed who cannot be. */
export async function upstreamOf(
  cluster: ClusterView,
  pod: string,
  pods: Pods,
  strict: boolean,
): Promise<Upstream | undefined> {
  const wanted = wantedRole(cluster, pod, strict);
  if (wanted.kind === 'follow-source') {
    if (wanted.host === '') throw new Unfollowable('spec.replicaMode.source.host must be the host to replicate from');
    return { host: wanted.host, port: wanted.port };
  }
  if (wanted.kind !== 'follow-pod') return undefined;
  const primary = wanted.pod === '' ? undefined : await pods.get(wanted.pod);
  const why = unfollowable(wanted.pod, primary, await pods.ownIp());
  if (why !== undefined || !primary) throw new Unfollowable(why);
  return { host: primary.ip, port: REDIS_PORT };
}

/** Brings Redis into the role that the object says. Fails where it cannot be had now. */
export async function applyRole(context: StepContext, pods: Pods): Promise<void> {
  const { cluster, redis, settings } = context;
  const { podName: pod, strict } = settings;
  const wanted = wantedRole(cluster, pod, strict);
  if (wanted.kind === 'leave') return;
  const replication = await replicationNow(redis);
  const upstream = await upstreamOf(cluster, pod, pods, strict);
  const action = roleAction(wanted, upstream, replication, strict);
  if (!action) return;
  if (action.kind === 'promote' && !strict) await refuseEmpty(context, replication);
  tell(context, action);
  if (action.kind === 'promote') {
    await redis.send('REPLICAOF', 'NO', 'ONE');
    return;
  }
  await redis.send('REPLICAOF', action.upstream.host, String(action.upstream.port));
  // Clients of a Service would go on writing to a replica, or reading what is out of date.
  if (action.demotes && !strict) await redis.send('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
}

/** A replica that never was in step with anybody has nothing to give to those who would follow it. */
async function refuseEmpty({ cluster, redis, settings }: StepContext, { offset }: Replication): Promise<void> {
  if (offset > 0 || keysIn(parseInfo(String(await redis.send('INFO', 'keyspace')))) > 0) return;
  const why = emptyPrimary(cluster, settings.podName, 'its Redis has never been synchronised');
  if (why !== undefined) throw new Error(why);
}

function tell({ event, settings }: StepContext, action: RoleAction): void {
  const to = action.kind === 'promote' ? '' : ` of ${action.upstream.host}:${action.upstream.port}`;
  const role = action.kind === 'promote' ? 'primary' : 'replica';
  event('Normal', action.reason, `${settings.podName} becomes ${role}${to}`);
}
