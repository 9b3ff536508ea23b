/** Where a kind lives on the API server. */
export interface Resource {
  /** '' is the core group. */
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

const row = (group: string, version: string, plural: string, kind: string, namespaced = true): Resource => ({
  group,
  version,
  plural,
  kind,
  namespaced,
});

export const CONFIG_MAPS: Resource = row('', 'v1', 'configmaps', 'ConfigMap');
export const SECRETS: Resource = row('', 'v1', 'secrets', 'Secret');
export const NAMESPACES: Resource = row('', 'v1', 'namespaces', 'Namespace', false);
export const EVENTS: Resource = row('', 'v1', 'events', 'Event');
export const LEASES: Resource = row('coordination.k8s.io', 'v1', 'leases', 'Lease');
export const SECRET_PROVIDER_CLASSES: Resource = row(
  'secrets-store.csi.x-k8s.io',
  'v1',
  'secretproviderclasses',
  'SecretProviderClass',
);
export const SECRET_PROVIDER_CLASS_POD_STATUSES: Resource = row(
  'secrets-store.csi.x-k8s.io',
  'v1',
  'secretproviderclasspodstatuses',
  'SecretProviderClassPodStatus',
);
