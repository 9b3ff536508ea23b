import { listIn, objectAt, objectIn, textIn } from '../../api/json.ts';
import { WORKLOAD_KINDS, type WorkloadKind } from '../../api/kinds.ts';
import type { KubeObject } from '../../api/objects.ts';
import { CONFIG_MAPS, NAMESPACES, type Resource, SECRET_PROVIDER_CLASSES, SECRETS } from '../../api/resources.ts';
import type { SourceKind } from '../../api/sources.ts';
import { type ParsedSettings, parseSettings } from '../../config/parse-settings.ts';
import type { Settings } from '../../config/settings.ts';
import type { JudgedSource } from '../../domain/judge/verdict.ts';
import { matches, parseSelector } from '../../domain/text/selector.ts';
import type { KubeClient } from '../../kube/client.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { mustExist } from '../cluster/namespace.ts';
import type { SourceList } from './doctor-findings.ts';

/** A Stakater Reloader that runs in the cluster, and what its flags and variables say in our words. */
export interface Installation {
  readonly namespace: string;
  readonly name: string;
  readonly image: string;
  readonly parsed: ParsedSettings;
}

/** Everything of one cluster that a diagnosis needs; only ever read. */
export interface Cluster {
  readonly workloads: readonly { readonly kind: WorkloadKind; readonly object: KubeObject }[];
  readonly sourcesOf: (namespace: string) => SourceList;
  /** What could not be read, one line each. */
  readonly unread: readonly string[];
}

const DEPLOYMENTS = WORKLOAD_KINDS.filter(({ kind }) => kind === 'Deployment');
const IMAGE = /(?:^|\/)stakater\/reloader(?:[-@:]|$)/;
const SOURCE_RESOURCES: Readonly<Record<SourceKind, Resource>> = {
  ConfigMap: CONFIG_MAPS,
  Secret: SECRETS,
  SecretProviderClass: SECRET_PROVIDER_CLASSES,
};

/** Undefined: this user may not look for them. */
export async function findInstallations(client: KubeClient): Promise<readonly Installation[] | undefined> {
  const { objects, unread } = await read(client, DEPLOYMENTS, undefined);
  if (unread.length > 0) return undefined;
  return objects.flatMap(({ object }) =>
    listIn(objectAt(object, ['spec', 'template', 'spec'])['containers']).flatMap((container) => {
      const { image, args, env } = objectIn(container);
      if (!IMAGE.test(textIn(image))) return [];
      const { name, namespace = '' } = object.metadata;
      const parsed = parseSettings(listIn(args).map(textIn), variables(env, object));
      return [{ namespace, name, image: textIn(image), parsed }];
    }),
  );
}

/** Values that come from elsewhere are not looked up: no decision depends on them, except the own namespace. */
function variables(env: unknown, { metadata }: KubeObject): Readonly<Record<string, string | undefined>> {
  const entries = listIn(env).map((each) => {
    const { name, value, valueFrom } = objectIn(each);
    const field = textIn(objectIn(objectIn(valueFrom)['fieldRef'])['fieldPath']);
    const known = field === 'metadata.namespace' ? metadata.namespace : metadata.name;
    return [textIn(name), valueFrom === undefined ? textIn(value) : known];
  });
  return Object.fromEntries(entries);
}

export async function readCluster(client: KubeClient, settings: Settings, only?: string): Promise<Cluster> {
  if (only !== undefined) await mustExist(client, only);
  const inScope = await scopeFilter(client, settings, only);
  const kinds = WORKLOAD_KINDS.filter(
    ({ kind }) => !settings.ignoredKinds.has(kind) && (kind !== 'Rollout' || settings.isArgoRollouts),
  );
  const workloads = await read(client, kinds, only);
  const sources = await readSources(client, settings, only);
  return {
    workloads: workloads.objects.filter(({ object }) => inScope(object.metadata.namespace ?? '')),
    sourcesOf: sources.of,
    unread: [...workloads.unread, ...sources.unread],
  };
}

async function scopeFilter(client: KubeClient, { scope }: Settings, only: string | undefined) {
  if (scope.mode === 'namespaces') return (namespace: string) => scope.namespaces.includes(namespace);
  const parsed = parseSelector(scope.selector ?? '');
  if (scope.selector === undefined || 'error' in parsed) return (name: string) => !scope.ignore.includes(name);
  const selected = new Set<string>();
  for await (const page of client.list(NAMESPACES, {}, { metadataOnly: true })) {
    for (const { metadata } of page.items)
      if (matches(parsed.selector, metadata.labels ?? {})) selected.add(metadata.name);
  }
  return (name: string) => selected.has(name) && !scope.ignore.includes(name) && (only ?? name) === name;
}

/** Objects of several kinds. One that is not served is none; one that may not be read is said. */
async function read<R extends Resource>(
  client: KubeClient,
  resources: readonly R[],
  namespace: string | undefined,
  metadataOnly = false,
) {
  const objects: { readonly kind: R; readonly object: KubeObject }[] = [];
  const unread: string[] = [];
  for (const kind of resources) {
    const ofKind: KubeObject[] = [];
    try {
      for await (const page of client.list(kind, { namespace }, { metadataOnly })) {
        if (page.fresh) ofKind.length = 0;
        ofKind.push(...page.items);
      }
      objects.push(...ofKind.map((object) => ({ kind, object })));
    } catch (error) {
      if (!KubeError.is(error, 'NotFound', 'Forbidden')) throw error;
      if (error.reason === 'Forbidden')
        unread.push(`${kind.plural}: this user may not list them, so they are left out`);
    }
  }
  return { objects, unread };
}

async function readSources(client: KubeClient, settings: Settings, only: string | undefined) {
  const kinds = (Object.keys(SOURCE_RESOURCES) as SourceKind[]).filter(
    (kind) =>
      !settings.resourcesToIgnore.has(SOURCE_RESOURCES[kind].plural as 'secrets') &&
      (kind !== 'SecretProviderClass' || settings.enableCsiIntegration),
  );
  const resources = kinds.map((kind) => SOURCE_RESOURCES[kind]);
  const { objects, unread } = await read(client, resources, only, true);
  const selector = parseSelector(settings.resourceLabelSelector ?? '');
  const byNamespace = new Map<string, Record<SourceKind, JudgedSource[]>>();
  for (const { kind, object } of objects) {
    const { namespace = '', name, labels = {}, annotations = {} } = object.metadata;
    if ('selector' in selector && !matches(selector.selector, labels)) continue;
    const list = byNamespace.get(namespace) ?? { ConfigMap: [], Secret: [], SecretProviderClass: [] };
    byNamespace.set(namespace, list);
    list[kind.kind as SourceKind].push({
      ref: { kind: kind.kind as SourceKind, name },
      ignored: annotations[settings.keys.ignore] === 'true',
      matchable: annotations[settings.keys.match] === 'true',
    });
  }
  const none: SourceList = { ConfigMap: [], Secret: [], SecretProviderClass: [] };
  return { of: (namespace: string): SourceList => byNamespace.get(namespace) ?? none, unread };
}
