import type { ClusterView } from '../../src/domain/redis/cluster-view.ts';

/** A RedisCluster without any wish. */
export const clusterView = (own: Partial<ClusterView> = {}): ClusterView => ({
  name: 'redis',
  namespace: 'shop',
  uid: 'u1',
  generation: 1,
  mode: 'standalone',
  redis: new Map(),
  memory: { bytes: undefined, policy: undefined },
  authSecret: undefined,
  aclSecret: undefined,
  rotationKeySecret: undefined,
  tls: false,
  replicaMode: undefined,
  overlapMs: 60_000,
  isolation: { enabled: true, apiServerTimeoutMs: 5000, peerTimeoutMs: 5000 },
  allowDangerous: new Set(),
  currentPrimary: '',
  instances: new Map(),
  problems: [],
  ...own,
});
