import type { Api, Manifest } from './api.ts';

export interface SourceName {
  readonly kind: 'ConfigMap' | 'Secret';
  readonly namespace: string;
  readonly name: string;
}

export type Data = Readonly<Record<string, string>>;

export function sourceManifest({ kind, namespace, name }: SourceName, data: Data, annotations: Data = {}): Manifest {
  const metadata = { namespace, name, annotations };
  return kind === 'ConfigMap'
    ? { apiVersion: 'v1', kind, metadata, data }
    : { apiVersion: 'v1', kind, metadata, stringData: data };
}

/** The usual workload: one container that takes its environment from its sources, and asks for everything it uses. */
export function workload(
  kind: 'Deployment' | 'StatefulSet' | 'DaemonSet',
  namespace: string,
  name: string,
  options: { readonly uses: readonly SourceName[]; readonly annotations?: Data; readonly podSpec?: object },
): Manifest {
  const labels = { app: name };
  const envFrom = options.uses.map((source) =>
    source.kind === 'ConfigMap' ? { configMapRef: { name: source.name } } : { secretRef: { name: source.name } },
  );
  const podSpec = options.podSpec ?? {
    terminationGracePeriodSeconds: 0,
    containers: [
      {
        name: 'app',
        image: 'busybox:1.27',
        command: ['sleep', '3600'],
        resources: { requests: { cpu: '1m', memory: '4Mi' }, limits: { cpu: '10m', memory: '16Mi' } },
        envFrom,
      },
    ],
  };
  return {
    apiVersion: 'apps/v1',
    kind,
    metadata: { namespace, name, annotations: options.annotations ?? AUTO },
    spec: {
      ...(kind === 'DaemonSet' ? {} : { replicas: 1 }),
      ...(kind === 'StatefulSet' ? { serviceName: name } : {}),
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: podSpec },
    },
  };
}

export const AUTO: Data = { 'reloader.stakater.com/auto': 'true' };

const COLLECTIONS: Readonly<Record<string, string>> = {
  ConfigMap: '/api/v1 configmaps',
  Secret: '/api/v1 secrets',
  Deployment: '/apis/apps/v1 deployments',
  StatefulSet: '/apis/apps/v1 statefulsets',
  DaemonSet: '/apis/apps/v1 daemonsets',
  Namespace: '/api/v1 namespaces',
  ServiceAccount: '/api/v1 serviceaccounts',
  Event: '/api/v1 events',
  Role: '/apis/rbac.authorization.k8s.io/v1 roles',
  RoleBinding: '/apis/rbac.authorization.k8s.io/v1 rolebindings',
  ClusterRole: '/apis/rbac.authorization.k8s.io/v1 clusterroles',
  ClusterRoleBinding: '/apis/rbac.authorization.k8s.io/v1 clusterrolebindings',
  CustomResourceDefinition: '/apis/apiextensions.k8s.io/v1 customresourcedefinitions',
  ReloaderConfig: '/apis/reloader.stakater.com/v1alpha1 reloaderconfigs',
  RedisCluster: '/apis/redis.io/v1 redisclusters',
  Pod: '/api/v1 pods',
  MutatingWebhookConfiguration: '/apis/admissionregistration.k8s.io/v1 mutatingwebhookconfigurations',
};

export function collectionPath(kind: string, namespace?: string): string {
  const [root, plural] = COLLECTIONS[kind]?.split(' ') ?? [];
  if (!root || !plural) throw new Error(`the bench does not know where ${kind} objects are`);
  return namespace === undefined ? `${root}/${plural}` : `${root}/namespaces/${namespace}/${plural}`;
}

export function objectPath(kind: string, namespace: string | undefined, name: string): string {
  return `${collectionPath(kind, namespace)}/${name}`;
}

const MANY = 32;

/** Creates objects, many at a time. One that exists stays as it is: to replace it would be a change. */
export async function createAll(api: Api, objects: Iterable<Manifest>): Promise<void> {
  const next = objects[Symbol.iterator]();
  const work = async (): Promise<void> => {
    for (let item = next.next(); !item.done; item = next.next()) await create(api, item.value);
  };
  await Promise.all(Array.from({ length: MANY }, work));
}

async function create(api: Api, object: Manifest): Promise<void> {
  const { namespace, name } = object.metadata;
  const answer = await api.send('POST', collectionPath(object.kind, namespace), object);
  if (answer.status >= 300 && answer.status !== 409) {
    throw new Error(`creating ${object.kind} ${name}: ${answer.text.slice(0, 300)}`);
  }
}

const CLEARED = ['Deployment', 'StatefulSet', 'DaemonSet', 'ConfigMap', 'Secret', 'Event'];

/** Removes everything that a scenario put into namespaces. The namespaces stay: nothing here would finish their removal. */
export async function clear(api: Api, namespaces: Iterable<string>): Promise<void> {
  for (const namespace of namespaces) {
    for (const kind of CLEARED) await api.call('DELETE', collectionPath(kind, namespace));
  }
}
