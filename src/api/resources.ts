import type { SourceKind } from './sources.ts';

/** Where a kind lives on the API server. */
export interface Resource {
  /** '' is the core group. */
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

const core = (plural: string, kind: string) => ({ group: '', version: 'v1', plural, kind, namespaced: true });
const CSI = 'secrets-store.csi.x-k8s.io';

export const CONFIG_MAPS: Resource = core('configmaps', 'ConfigMap');
export const SECRETS: Resource = core('secrets', 'Secret');
export const isSecret = ({ group, plural }: Resource): boolean => group === SECRETS.group && plural === SECRETS.plural;
export const NAMESPACES: Resource = { ...core('namespaces', 'Namespace'), namespaced: false };
/** The label that the API server gives every namespace. */
export const NAMESPACE_NAME = 'kubernetes.io/metadata.name';
export const PODS: Resource = core('pods', 'Pod');
export const REPLICATION_CONTROLLERS: Resource = core('replicationcontrollers', 'ReplicationController');
export const REPLICA_SETS: Resource = { ...core('replicasets', 'ReplicaSet'), group: 'apps' };
export const EVENTS: Resource = core('events', 'Event');
export const LEASES: Resource = { ...core('leases', 'Lease'), group: 'coordination.k8s.io' };
export const SECRET_PROVIDER_CLASSES: Resource = {
  ...core('secretproviderclasses', 'SecretProviderClass'),
  group: CSI,
};
export const SECRET_PROVIDER_CLASS_POD_STATUSES: Resource = {
  ...core('secretproviderclasspodstatuses', 'SecretProviderClassPodStatus'),
  group: CSI,
};

export const RELOADER_CONFIGS: Resource = {
  group: 'reloader.stakater.com',
  version: 'v1alpha1',
  plural: 'reloaderconfigs',
  kind: 'ReloaderConfig',
  namespaced: true,
};

export const REDIS_CLUSTERS: Resource = {
  group: 'redis.io',
  version: 'v1',
  plural: 'redisclusters',
  kind: 'RedisCluster',
  namespaced: true,
};

/** Where each kind of source is found. */
export const SOURCE_RESOURCES: Readonly<Record<SourceKind, Resource>> = {
  ConfigMap: CONFIG_MAPS,
  Secret: SECRETS,
  SecretProviderClass: SECRET_PROVIDER_CLASSES,
};
