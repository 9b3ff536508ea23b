import { createHash } from 'node:crypto';
import { type KindName, kindNamed, type WorkloadKind } from '../../src/api/kinds.ts';
import { CONFIG_MAPS, type Resource, SECRETS } from '../../src/api/resources.ts';
import type { AnyObject } from './sandbox.ts';

/** The ways in which a pod template can name a source. */
export const REFERENCES = [
  'envFrom',
  'valueFrom',
  'volume',
  'projected',
  'projected-mixed',
  'init-envFrom',
  'init-volume',
  'imagePullSecrets',
  'unmounted-volume',
] as const;
export type Reference = (typeof REFERENCES)[number];

/** A source by name. SecretProviderClasses are named by volumes only. */
export interface SourceName {
  readonly kind: 'ConfigMap' | 'Secret';
  readonly name: string;
}

type Fields = Readonly<Record<string, unknown>>;

/** What differs from the plainest workload of a kind. */
export interface WorkloadOptions {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly templateAnnotations?: Readonly<Record<string, string>>;
  /** Fields of the pod; `containers` replace the two of every pod here. */
  readonly pod?: Fields;
  readonly spec?: Fields;
}

/** The first container uses nothing: a mark that lands there by mistake is seen. */
const IDLE = { name: 'idle', image: 'idle' };
const app = (fields: Fields) => ({ name: 'app', image: 'app', ...fields });

/** A pod with the containers `idle` and `app`, of which `app` (or an init container) uses the source. */
export function podUsing(source: SourceName, reference: Reference): Fields {
  const pod = (fields: Fields, rest: Fields = {}) => ({ containers: [IDLE, app(fields)], ...rest });
  const mounts = { volumeMounts: [{ name: 'files', mountPath: '/files' }] };
  const files = (volume: Fields) => ({ volumes: [{ name: 'files', ...volume }] });
  switch (reference) {
    case 'envFrom':
      return pod(envFrom(source));
    case 'valueFrom':
      return pod({ env: [{ name: 'GREETING', valueFrom: keyRef(source) }] });
    case 'volume':
      return pod(mounts, files(volumeOf(source)));
    case 'projected':
      return pod(mounts, files({ projected: { sources: [projection(source)] } }));
    case 'projected-mixed': {
      const other = projection({ kind: source.kind === 'Secret' ? 'ConfigMap' : 'Secret', name: 'other' });
      return pod(mounts, files({ projected: { sources: [other, projection(source)] } }));
    }
    case 'init-envFrom':
      return pod({}, { initContainers: [{ name: 'init', image: 'init', ...envFrom(source) }] });
    case 'init-volume':
      return pod({}, { initContainers: [{ name: 'init', image: 'init', ...mounts }], ...files(volumeOf(source)) });
    case 'imagePullSecrets':
      return pod({}, { imagePullSecrets: [{ name: source.name }] });
    case 'unmounted-volume':
      return pod({}, files(volumeOf(source)));
  }
}

export const envFrom = ({ kind, name }: SourceName): Fields => ({
  envFrom: [kind === 'Secret' ? { secretRef: { name } } : { configMapRef: { name } }],
});

const keyRef = ({ kind, name }: SourceName): Fields =>
  kind === 'Secret' ? { secretKeyRef: { name, key: 'greeting' } } : { configMapKeyRef: { name, key: 'greeting' } };

const volumeOf = ({ kind, name }: SourceName): Fields =>
  kind === 'Secret' ? { secret: { secretName: name } } : { configMap: { name } };

const projection = ({ kind, name }: SourceName): Fields =>
  kind === 'Secret' ? { secret: { name } } : { configMap: { name } };

/** A workload of any kind that has no pods: what is tested stands on the object, and pods cost time. */
export function workload(kind: KindName, name: string, options: WorkloadOptions = {}): Fields {
  const labels = { app: name };
  const containers = [IDLE, app({})];
  const template = {
    metadata: { labels, ...(options.templateAnnotations && { annotations: options.templateAnnotations }) },
    spec: { containers, ...options.pod },
  };
  const { group, version } = kindRow(kind);
  return {
    apiVersion: `${group}/${version}`,
    kind,
    metadata: { name, annotations: { ...options.annotations } },
    spec: { ...specOf(kind, labels, template), ...options.spec },
  };
}

interface Template {
  readonly metadata: Fields;
  readonly spec: Fields;
}

/** For a strategic merge with a pod template that has one container: the template of a writer who knows of no marks. */
export const UNMARKED = {
  metadata: { annotations: null },
  spec: { containers: [{ name: 'app', env: [{ $patch: 'replace' }] }] },
};

/** In the spec of a Deployment: its rollouts never complete, so pods of earlier templates may be left. */
export const HELD_OPEN = { replicas: 1, minReadySeconds: 500 };

function specOf(kind: KindName, labels: Fields, template: Template): Fields {
  const selector = { matchLabels: labels };
  const finite = { ...template, spec: { restartPolicy: 'Never', ...template.spec } };
  switch (kind) {
    case 'Deployment':
    case 'Rollout':
      return { replicas: 0, selector, template };
    case 'StatefulSet':
      return { replicas: 0, selector, serviceName: 'none', template };
    case 'DaemonSet':
      return { selector, template: { ...template, spec: { nodeSelector: { none: 'such' }, ...template.spec } } };
    case 'DeploymentConfig':
      return { replicas: 0, selector: labels, template };
    case 'Job':
      return { parallelism: 0, template: finite };
    case 'CronJob':
      return { schedule: '0 0 1 1 *', jobTemplate: { spec: { parallelism: 0, template: finite } } };
  }
}

/** A ConfigMap or Secret with these texts. */
export function sourceObject(kind: SourceName['kind'], name: string, data: Readonly<Record<string, string>>): Fields {
  return { apiVersion: 'v1', kind, metadata: { name }, ...dataOf(kind, data) };
}

export function dataOf(kind: SourceName['kind'], data: Readonly<Record<string, string>>): Fields {
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  if (kind === 'ConfigMap') return { data };
  return { data: Object.fromEntries(Object.entries(data).map(([key, text]) => [key, base64(text)])) };
}

/** Stakater's hash of texts, written down a second time: a ConfigMap and a Secret of the same texts have the same one. */
export function sha1(data: Readonly<Record<string, string>>): string {
  const entries = Object.entries(data).map(([key, text]) => Buffer.from(`${key}=${text}`));
  const sorted = entries.sort(Buffer.compare).map((entry) => entry.toString());
  return createHash('sha1').update(sorted.join(';')).digest('hex');
}

/** `STAKATER_MY_APP_CONFIGMAP` for my-app. */
export function variable(kind: 'ConfigMap' | 'Secret' | 'SecretProviderClass', name: string): string {
  return `STAKATER_${name.toUpperCase().replaceAll(/[^A-Z0-9]+/g, '_')}_${kind.toUpperCase()}`;
}

/** Its own controller has seen it as it is: pods of it are being made, and its revision is counted. */
export const isObserved = (object: AnyObject | undefined): boolean =>
  object !== undefined && object['status']?.observedGeneration === object.metadata.generation;

export function kindRow(kind: KindName): WorkloadKind {
  const row = kindNamed(kind);
  if (!row) throw new Error(`no kind ${kind}`);
  return row;
}

const CORE: Readonly<Record<SourceName['kind'], Resource>> = { ConfigMap: CONFIG_MAPS, Secret: SECRETS };

/** Where objects of a kind are; with a name: where that one is. */
export function pathOf(kind: KindName | SourceName['kind'], namespace: string, name?: string): string {
  const { group, version, plural } = kind === 'ConfigMap' || kind === 'Secret' ? CORE[kind] : kindRow(kind);
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  return `${root}/namespaces/${namespace}/${plural}${name === undefined ? '' : `/${name}`}`;
}
