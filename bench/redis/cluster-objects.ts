import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { parseAllDocuments } from 'yaml';
import { crd } from '../../src/api/redis-cluster/crd.ts';
import { type Api, type Manifest, now } from '../api.ts';
import { collectionPath, createAll, objectPath } from '../objects.ts';
import type { ClusterName } from './watch-object.ts';

const EXAMPLE = new URL('../../deploy/redis/example.yaml', import.meta.url);
const DEADLINE_MS = 30_000;

/** Waits until something holds; an error on the way means that it does not. */
export async function until(what: string, holds: () => Promise<boolean> | boolean): Promise<void> {
  const deadline = now() + DEADLINE_MS;
  while (!(await (async () => await holds())().catch(() => false))) {
    if (now() > deadline) throw new Error(`${what}: not within ${DEADLINE_MS / 1000} s`);
    await delay(20);
  }
}

/** Makes the API server serve RedisClusters; the function that is returned ends that, and all of them. */
export async function serveClusters(api: Api): Promise<() => Promise<void>> {
  const definition = crd();
  await createAll(api, [definition]);
  await until('RedisClusters being served', async () => {
    return (await api.send('GET', collectionPath('RedisCluster'))).status === 200;
  });
  return async () => {
    await api.call('DELETE', objectPath(definition.kind, undefined, definition.metadata.name));
  };
}

export const clusterPath = ({ namespace, name }: ClusterName): string => objectPath('RedisCluster', namespace, name);

/** The only pod of a cluster. */
export const podOf = ({ name }: ClusterName): string => `${name}-0`;

/** A RedisCluster with all that an agent can be told to follow. A rotation does not wait for anybody: there is one pod. */
export async function createCluster(api: Api, cluster: ClusterName): Promise<void> {
  const spec = {
    instances: 1,
    redis: { maxmemory: '64mb', 'tcp-keepalive': '60', 'slowlog-log-slower-than': '20000' },
    authSecret: { name: 'auth' },
    aclConfigSecret: { name: 'users' },
    rotationKeySecret: { name: 'key' },
    tlsSecret: { name: 'tls' },
    caSecret: { name: 'ca' },
    authOverlap: '0s',
  };
  const object: Manifest = { apiVersion: 'redis.io/v1', kind: 'RedisCluster', metadata: cluster, spec };
  await createAll(api, [object]);
  const primary = { status: { currentPrimary: podOf(cluster) } };
  await api.call('PATCH', `${clusterPath(cluster)}/status`, primary, 'application/merge-patch+json');
}

/** A Pod object that nobody runs: what runs is a process of the bench. */
export async function createPod(api: Api, cluster: ClusterName, address: string): Promise<void> {
  const { namespace } = cluster;
  const name = podOf(cluster);
  const containers = [{ name: 'redis', image: 'attune-redis' }];
  const spec = { schedulerName: 'nobody', serviceAccountName: cluster.name, containers };
  const metadata = { namespace, name, labels: { 'redis.io/cluster': cluster.name } };
  await createAll(api, [{ apiVersion: 'v1', kind: 'Pod', metadata, spec }]);
  const status = { status: { podIP: address, podIPs: [{ ip: address }] } };
  await api.call('PATCH', `${objectPath('Pod', namespace, name)}/status`, status, 'application/merge-patch+json');
}

/** The rights that the example gives an agent, no others: a call that they do not allow must fail here too. */
export function agentRights({ namespace, name }: ClusterName): readonly Manifest[] {
  const rbac = 'rbac.authorization.k8s.io';
  const role = parseAllDocuments(readFileSync(EXAMPLE, 'utf8'))
    .map((document) => document.toJS() as Manifest | null)
    .find((object) => object?.kind === 'Role');
  const rules = (role?.['rules'] ?? []) as readonly object[];
  const metadata = { namespace, name };
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'Role',
      metadata,
      rules: rules.map((rule) => ('resourceNames' in rule ? { ...rule, resourceNames: [name] } : rule)),
    },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: rbac, kind: 'Role', name },
      subjects: [{ kind: 'ServiceAccount', namespace, name }],
    },
  ];
}
