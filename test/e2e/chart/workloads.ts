import { kindNamed, type WorkloadKind } from '../../../src/api/kinds.ts';
import type { AnyObject, api } from '../../support/sandbox.ts';
import { until } from '../../support/wait.ts';

type Admin = ReturnType<typeof api>;

export const AUTO = { 'reloader.stakater.com/auto': 'true' };

/** A workload that takes variables from the ConfigMap `app` and mounts the Secret `keys`. */
export function workload(kindName: string, name: string, options: { annotations?: object; source?: string } = {}) {
  const { annotations = AUTO, source = 'app' } = options;
  const labels = { app: name };
  const batch = kindName === 'Job' || kindName === 'CronJob';
  const template = {
    metadata: { labels },
    spec: {
      containers: [
        {
          name: 'main',
          image: 'shop',
          envFrom: [{ configMapRef: { name: source } }],
          volumeMounts: [{ name: 'keys', mountPath: '/keys' }],
        },
      ],
      volumes: [{ name: 'keys', secret: { secretName: 'keys' } }],
      ...(batch && { restartPolicy: 'Never' }),
    },
  };
  const spec = { selector: { matchLabels: labels }, template };
  const specs: Readonly<Record<string, object>> = {
    StatefulSet: { ...spec, serviceName: name },
    CronJob: { schedule: '0 0 1 1 *', jobTemplate: { spec: { template } } },
    Job: { template },
    Rollout: { ...spec, replicas: 1 },
  };
  const { group, version } = kind(kindName);
  return {
    apiVersion: `${group}/${version}`,
    kind: kindName,
    metadata: { name, annotations },
    spec: specs[kindName] ?? spec,
  };
}

function kind(name: string): WorkloadKind {
  const found = kindNamed(name);
  if (!found) throw new Error(`no kind ${name}`);
  return found;
}

export function pathOf(kindName: string, namespace: string, name = ''): string {
  const { group, version, plural } = kind(kindName);
  return `/apis/${group}/${version}/namespaces/${namespace}/${plural}/${name}`;
}

/** The namespace's sources: ConfigMap `app` and Secret `keys`. */
export async function sources(admin: Admin, namespace: string, labels: object = {}): Promise<void> {
  await admin.create(`/api/v1/namespaces/${namespace}/configmaps`, {
    metadata: { name: 'app', labels },
    data: { v: '0' },
  });
  await admin.create(`/api/v1/namespaces/${namespace}/secrets`, {
    metadata: { name: 'keys', labels },
    stringData: { v: '0' },
  });
}

let version = 0;

export function change(admin: Admin, namespace: string, name = 'app'): Promise<AnyObject> {
  version += 1;
  const path = `/api/v1/namespaces/${namespace}/${name === 'keys' ? 'secrets' : 'configmaps'}/${name}`;
  const text = String(version);
  return admin.patch(path, { data: { v: name === 'keys' ? btoa(text) : text } });
}

/** The pod template's text: any rollout changes it, and nothing else does. */
export const templateOf = (object: AnyObject): string => JSON.stringify(object['spec'].template);

/** A workload of a namespace, named after its kind in lower case. */
export interface Place {
  readonly admin: Admin;
  readonly namespace: string;
  readonly kind: string;
  readonly name?: string;
}

/**
 * Something that tells one reaction from the next: the template; for a Job, which is created anew, its uid; for a
 * CronJob, from which Jobs are started, their names.
 */
export async function traceOf({
  admin,
  namespace,
  kind: kindName,
  name = kindName.toLowerCase(),
}: Place): Promise<string> {
  const object = await admin.get(pathOf(kindName, namespace, name));
  if (kindName === 'Job') return object.metadata.uid;
  if (kindName !== 'CronJob') return templateOf(object);
  const jobs = await admin.list(pathOf('Job', namespace));
  const started = jobs.filter((job) => job.metadata.name.startsWith(`${name}-`)).map((job) => job.metadata.name);
  return [JSON.stringify(object['spec'].jobTemplate), ...started.sort()].join();
}

/** Waits until the workload has reacted to something since `before`; returns the new trace. */
export function reaction(place: Place, before: string): Promise<string> {
  return until(
    async () => {
      const trace = await traceOf(place);
      return trace !== before && trace;
    },
    { what: `${place.kind} in ${place.namespace} reacting` },
  );
}
