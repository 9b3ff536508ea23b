import { type KindName, kindNamed, type WorkloadKind } from '../../api/kinds.ts';
import { CONFIG_MAPS, NAMESPACES, type Resource, SECRETS } from '../../api/resources.ts';
import type { KubeClient } from '../../kube/client.ts';
import { KubeError } from '../../kube/kube-error.ts';

export const DEMO = 'demo';

/** A workload of the demo application, and what makes it roll. */
export interface DemoWorkload {
  readonly kind: WorkloadKind;
  readonly name: string;
  readonly replicas: number;
  readonly annotations: Readonly<Record<string, string>>;
  /** The pod spec's one container takes its variables from here. */
  readonly from: { readonly configMap: string } | { readonly secret: string };
}

const AUTO = { 'reloader.stakater.com/auto': 'true' };
const row = (kind: KindName) => kindNamed(kind) as WorkloadKind;

/** One that asks for everything it uses, one that asks for nothing, and two that share a Secret. */
export const DEMO_WORKLOADS: readonly DemoWorkload[] = [
  { kind: row('Deployment'), name: 'web', replicas: 2, annotations: AUTO, from: { configMap: 'app' } },
  { kind: row('Deployment'), name: 'worker', replicas: 1, annotations: {}, from: { configMap: 'app' } },
  {
    kind: row('Deployment'),
    name: 'api',
    replicas: 2,
    annotations: { 'secret.reloader.stakater.com/reload': 'db-password' },
    from: { secret: 'db-password' },
  },
  { kind: row('StatefulSet'), name: 'db', replicas: 1, annotations: AUTO, from: { secret: 'db-password' } },
];

/** Creates what is missing; what is there already, and may have been played with, stays as it is. */
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

function manifest({ kind, name, replicas, annotations, from }: DemoWorkload): Body {
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
      // Nothing runs in these pods, so nothing has to be waited for when they end.
      template: { metadata: { labels }, spec: { terminationGracePeriodSeconds: 0, containers: [container] } },
    },
  };
}

interface Body {
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly [field: string]: unknown };
  readonly [field: string]: unknown;
}

async function create(client: KubeClient, resource: Resource, body: Body): Promise<void> {
  const apiVersion = resource.group === '' ? resource.version : `${resource.group}/${resource.version}`;
  try {
    await client.create(resource, body.metadata.namespace, { apiVersion, kind: resource.kind, ...body });
  } catch (error) {
    if (!KubeError.is(error, 'AlreadyExists')) throw error;
  }
}
