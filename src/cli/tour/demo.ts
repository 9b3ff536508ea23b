import { type KindName, kindNamed, type WorkloadKind } from '../../api/kinds.ts';
import { CONFIG_MAPS, NAMESPACES, type Resource, SECRETS } from '../../api/resources.ts';
import type { KubeClient } from '../../kube/client.ts';
import { KubeError } from '../../kube/kube-error.ts';

export const DEMO = 'demo';

/** A workload of the demo application. */
export interface DemoWorkload {
  readonly kind: WorkloadKind;
  readonly name: string;
  readonly replicas: number;
  readonly annotations: Readonly<Record<string, string>>;
  /** The source of its container's environment variables. */
  readonly from: { readonly configMap: string } | { readonly secret: string };
}

const AUTO = { 'reloader.stakater.com/auto': 'true' };
const kindOf = (kind: KindName) => kindNamed(kind) as WorkloadKind;

/** One workload asks for everything that it uses, one for nothing, and two share a Secret. */
export const DEMO_WORKLOADS: readonly DemoWorkload[] = [
  { kind: kindOf('Deployment'), name: 'web', replicas: 2, annotations: AUTO, from: { configMap: 'app' } },
  { kind: kindOf('Deployment'), name: 'worker', replicas: 1, annotations: {}, from: { configMap: 'app' } },
  {
    kind: kindOf('Deployment'),
    name: 'api',
    replicas: 2,
    annotations: { 'secret.reloader.stakater.com/reload': 'db-password' },
    from: { secret: 'db-password' },
  },
  { kind: kindOf('StatefulSet'), name: 'db', replicas: 1, annotations: AUTO, from: { secret: 'db-password' } },
];

/** Creates what is missing; objects that exist, and that the user may have changed, stay as they are. */
export async function installDemo(client: KubeClient, ownNamespace: string): Promise<void> {
  for (const name of [DEMO, ownNamespace]) await create(client, NAMESPACES, { metadata: { name } });
  const meta = (name: string) => ({ name, namespace: DEMO });
  await Promise.all([
    create(client, CONFIG_MAPS, { metadata: meta('app'), data: { greeting: 'hello', revision: '1' } }),
    create(client, CONFIG_MAPS, { metadata: meta('features'), data: { search: 'on' } }),
    create(client, SECRETS, { metadata: meta('db-password'), stringData: { password: 'not-a-secret', revision: '1' } }),
  ]);
  await Promise.all(DEMO_WORKLOADS.map((workload) => create(client, workload.kind, manifest(workload))));
}

/** As its author wrote it, without anything that others have added since. */
export function manifest({ kind, name, replicas, annotations, from }: DemoWorkload): Body {
  const labels = { app: name };
  const reference =
    'configMap' in from ? { configMapRef: { name: from.configMap } } : { secretRef: { name: from.secret } };
  const container = { name, image: `demo/${name}`, envFrom: [reference] };
  return {
    metadata: { name, namespace: DEMO, labels, annotations },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      ...(kind.kind === 'StatefulSet' && { serviceName: name }),
      // Nothing runs in these pods, so they need no time to end.
      template: { metadata: { labels }, spec: { terminationGracePeriodSeconds: 0, containers: [container] } },
    },
  };
}

interface Body {
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly [field: string]: unknown };
  readonly [field: string]: unknown;
}

/** An object that exists stays as it is. */
export async function create(client: KubeClient, resource: Resource, body: Body): Promise<void> {
  const apiVersion = resource.group === '' ? resource.version : `${resource.group}/${resource.version}`;
  try {
    await client.create(resource, body.metadata.namespace, { apiVersion, kind: resource.kind, ...body });
  } catch (error) {
    if (!KubeError.is(error, 'AlreadyExists')) throw error;
  }
}
