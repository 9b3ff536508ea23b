import { ALLOW_DANGEROUS, EMPTY_PRIMARY } from '../../api/redis-cluster/annotations.ts';
import type { ClusterView } from './cluster-view.ts';
import type { Replication } from './info.ts';

/** Always, for a primary of the cluster. */
export const REDIS_PORT = 6379;

/** Whom this pod's Redis is to follow. */
export type WantedRole =
  /** Nobody has an opinion, or it is somebody else's business: the role is left alone. */
  | { readonly kind: 'leave' }
  | { readonly kind: 'primary'; readonly reason: 'PromotedToPrimary' | 'ReplicaModePromoteRequested' }
  | { readonly kind: 'follow-pod'; readonly pod: string }
  | { readonly kind: 'follow-source'; readonly host: string; readonly port: number };

/** `strict`: also in the cases in which it does harm. */
export function wantedRole(cluster: ClusterView, pod: string, strict: boolean): WantedRole {
  const { mode, replicaMode, currentPrimary } = cluster;
  if (mode === 'cluster') return { kind: 'leave' };
  if (replicaMode) {
    if (replicaMode.promote && currentPrimary === pod)
      return { kind: 'primary', reason: 'ReplicaModePromoteRequested' };
    return { kind: 'follow-source', host: replicaMode.host, port: replicaMode.port };
  }
  // Sentinel has promoted somebody before the object says so: to act by the object would undo it.
  if (!strict && (currentPrimary === '' || mode === 'sentinel')) return { kind: 'leave' };
  if (currentPrimary === pod) return { kind: 'primary', reason: 'PromotedToPrimary' };
  return { kind: 'follow-pod', pod: currentPrimary };
}

export interface Upstream {
  readonly host: string;
  readonly port: number;
}

export type RoleReason =
  | 'PromotedToPrimary'
  | 'DemotedToReplica'
  | 'ReplicaReconfigured'
  | 'ReplicaModePromoteRequested'
  | 'ReplicaModeSourceUpdated';

/** What to send to Redis, and the reason of the Event. */
export type RoleAction =
  | { readonly kind: 'promote'; readonly reason: RoleReason }
  | { readonly kind: 'follow'; readonly upstream: Upstream; readonly reason: RoleReason; readonly demotes: boolean };

/** Undefined: it is as wanted. `upstream` is whom to follow, where somebody is to be followed. */
export function roleAction(
  wanted: WantedRole,
  upstream: Upstream | undefined,
  { role, master }: Replication,
  strict: boolean,
): RoleAction | undefined {
  if (wanted.kind === 'leave') return undefined;
  if (wanted.kind === 'primary') {
    const { reason } = wanted;
    const isAsked = strict && reason === 'ReplicaModePromoteRequested';
    return role === 'slave' || isAsked ? { kind: 'promote', reason } : undefined;
  }
  if (!upstream || (role === 'slave' && master && isSame(master, upstream))) return undefined;
  const demotes = role === 'master';
  if (wanted.kind === 'follow-source') return { kind: 'follow', upstream, reason: 'ReplicaModeSourceUpdated', demotes };
  return { kind: 'follow', upstream, reason: demotes ? 'DemotedToReplica' : 'ReplicaReconfigured', demotes };
}

const isSame = (one: Upstream, other: Upstream): boolean =>
  one.host.toLowerCase() === other.host.toLowerCase() && one.port === other.port;

/** A pod, as far as it can be followed. */
export interface PrimaryPod {
  readonly ip: string;
  readonly isTerminating: boolean;
}

/** Why a pod's address must not be followed: Redis would say OK and be a read-only replica of nothing. */
export function unfollowable(name: string, pod: PrimaryPod | undefined, ownIp: string): string | undefined {
  if (!pod) return `status.currentPrimary names the pod "${name}", which does not exist: name one that does`;
  if (pod.ip === '') return `pod ${name} has no address yet`;
  if (pod.ip === ownIp) return `pod ${name} has this pod's own address ${ownIp}`;
  if (pod.isTerminating) return `pod ${name} is being deleted`;
  return undefined;
}

/** Why this Redis must not become the primary: it never had the data, and its replicas would lose theirs. */
export function emptyPrimary(
  cluster: ClusterView,
  pod: string,
  what: 'its data folder is empty' | 'its Redis has never been synchronised',
): string | undefined {
  if (cluster.allowDangerous.has(EMPTY_PRIMARY)) return undefined;
  for (const [name, { keys, replicationOffset }] of cluster.instances) {
    if (name === pod || (keys ?? replicationOffset ?? 0) <= 0) continue;
    const reported = keys === undefined ? `replication offset ${replicationOffset}` : `${keys} keys`;
    return (
      `${pod} is named primary, but ${what}, while ${name} has reported ${reported}: as primary it would empty its ` +
      `replicas. Set status.currentPrimary to ${name}, or restore the data of ${pod}; if the data is really to be given ` +
      `up, annotate the RedisCluster with ${ALLOW_DANGEROUS}: "${EMPTY_PRIMARY}"`
    );
  }
  return undefined;
}
