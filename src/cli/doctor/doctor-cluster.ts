import { objectAt, textIn } from '../../api/json.ts';
import { kindNamed, WORKLOAD_KINDS, type WorkloadKind } from '../../api/kinds.ts';
import type { KubeObject } from '../../api/objects.ts';
import { NAMESPACES, SOURCE_RESOURCES } from '../../api/resources.ts';
import { SOURCE_KINDS, type SourceKind } from '../../api/sources.ts';
import type { Settings } from '../../config/settings.ts';
import type { Source } from '../../domain/source/source.ts';
import { matches, parseSelector } from '../../domain/text/selector.ts';
import type { KubeClient } from '../../kube/client.ts';
import { withKey } from '../../model/ledger/ledger-key.ts';
import { listAll } from '../../model/list-all.ts';
import { Snapshot } from '../../model/snapshot.ts';
import { type Deployed, programsOf } from '../cluster/deployed.ts';
import type { SourceList } from './doctor-findings.ts';

const DEPLOYMENTS = kindNamed('Deployment') as WorkloadKind;
const IMAGE = /(?:^|\/)stakater\/reloader(?:[-@:]|$)/;

/** Among all Deployments of the cluster the reloaders are found. Undefined: this user may not look for them. */
export const listDeployments = (client: KubeClient): Promise<readonly KubeObject[] | undefined> =>
  listAll(client, DEPLOYMENTS, {});

/** Every Stakater Reloader among these Deployments. */
export const reloadersIn = (deployments: readonly KubeObject[]): readonly Deployed[] =>
  deployments.flatMap((object) => programsOf(object, IMAGE));

/** Everything of one cluster that a diagnosis needs; only ever read. */
export async function readCluster(client: KubeClient, settings: Settings, only?: string) {
  const inScope = await scopeFilter(client, settings, only);
  // Only what the rules read is looked at, and for that any key will do.
  const key = withKey(new Uint8Array(), settings.compat);
  const snapshot = new Snapshot({ client, namespace: only, policy: settings, configs: settings, key });
  const kinds = WORKLOAD_KINDS.filter(
    ({ kind }) => !settings.ignoredKinds.has(kind) && (kind !== 'Rollout' || settings.isArgoRollouts),
  );
  const found: { kind: WorkloadKind; object: KubeObject }[] = [];
  for (const kind of kinds) found.push(...(await snapshot.list(kind)).map((object) => ({ kind, object })));
  const rollouts = found.filter(({ kind }) => kind.kind === 'Rollout').map(({ object }) => object);
  const borrowers = Map.groupBy(rollouts, templateOwner);
  const sourceKinds = SOURCE_KINDS.filter(
    (kind) =>
      !settings.resourcesToIgnore.has(SOURCE_RESOURCES[kind].plural as 'secrets') &&
      (kind !== 'SecretProviderClass' || settings.enableCsiIntegration),
  );
  await snapshot.readSources(sourceKinds);
  return {
    /** Each with the Rollouts that have borrowed its template. */
    workloads: found
      .filter(({ object }) => inScope(object.metadata.namespace ?? ''))
      .map((each) => ({ ...each, borrowers: borrowers.get(placeOf(each.kind.kind, each.object)) ?? [] })),
    sourcesOf: watchedSources(snapshot, settings),
    /** What could not be read, one line each. */
    unread: snapshot.forbidden.map(({ plural }) => `${plural}: this user may not list them, so they are left out`),
  };
}

const placeOf = (kind: string, { metadata }: KubeObject, name = metadata.name): string =>
  `${kind}/${metadata.namespace}/${name}`;

/** Whose template a Rollout uses. */
function templateOwner(rollout: KubeObject): string {
  const { kind, name } = objectAt(rollout, ['spec', 'workloadRef']);
  return placeOf(textIn(kind), rollout, textIn(name));
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

/** The sources of a namespace, but for those that a selector leaves out. */
function watchedSources(snapshot: Snapshot, { resourceLabelSelector = '' }: Settings) {
  const parsed = parseSelector(resourceLabelSelector);
  const isWatched = ({ ref }: Source): boolean =>
    'error' in parsed || matches(parsed.selector, snapshot.facts(ref).labels ?? {});
  const listOf = (namespace: string): SourceList => {
    const of = (kind: SourceKind) => [...snapshot.sources.inNamespace(kind, namespace)].filter(isWatched);
    return { ConfigMap: of('ConfigMap'), Secret: of('Secret'), SecretProviderClass: of('SecretProviderClass') };
  };
  // Every workload of a namespace is asked about the same sources, and there may be thousands of both.
  const lists = new Map<string, SourceList>();
  return (namespace: string): SourceList => {
    const list = lists.get(namespace) ?? listOf(namespace);
    lists.set(namespace, list);
    return list;
  };
}
