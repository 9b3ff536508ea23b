import { WORKLOAD_KINDS, type WorkloadKind } from '../../api/kinds.ts';
import type { KubeObject } from '../../api/objects.ts';
import {
  CONFIG_MAPS,
  NAMESPACES,
  type Resource,
  SECRET_PROVIDER_CLASS_POD_STATUSES,
  SECRET_PROVIDER_CLASSES,
  SECRETS,
} from '../../api/resources.ts';
import type { SourceRef } from '../../api/sources.ts';
import type { ControllerOptions } from '../../domain/controller-options.ts';
import type { Source, SourceFlags } from '../../domain/source/source.ts';
import { workloadKey } from '../../domain/workload/workload.ts';
import type { ListScope } from '../../kube/client.ts';
import type { ReflectEvent } from '../../kube/watch/reflector.ts';
import type { SeenWorkload } from '../../model/object-parser.ts';
import { Classes, type ClassStatus } from '../../model/sources/provider-classes.ts';
import type { LiveModel } from '../live-model.ts';
import type { WatchReport } from '../report/watch-report.ts';
import type { ConfigStatuses } from '../status/config-statuses.ts';
import type { Pauses } from '../write/pauses.ts';
import type { ConfigDefinition } from './config-definition.ts';
import { followConfigs } from './configs.ts';

export interface FollowDeps extends LiveModel {
  readonly options: ControllerOptions;
  readonly pauses: Pauses;
  readonly statuses: ConfigStatuses;
  readonly definition: ConfigDefinition;
  readonly signal: AbortSignal;
  readonly report: WatchReport;
}

/** Follows everything that concerns us, and tells the source history and the engine. */
export async function follow(deps: FollowDeps, withWorkloads: boolean): Promise<void> {
  const { options, watches } = deps;
  if (options.scope.mode === 'global' && options.scope.selector) followNamespaces(deps, options.scope.selector);
  // Without workloads nobody says which bytes are worth reading: every source has to be known in full.
  const light = withWorkloads;
  if (!options.resourcesToIgnore.has('configmaps')) followSources(deps, CONFIG_MAPS, light, []);
  if (!options.resourcesToIgnore.has('secrets')) {
    followSources(deps, SECRETS, light, options.watchHelmSecrets ? [] : ['type!=helm.sh/release.v1']);
  }
  if (withWorkloads) for (const kind of kindsOf(options)) await followKind(deps, kind);
  if (withWorkloads && options.reloaderConfig) await followConfigs(deps, scopesOf(options));
  if (options.enableCsiIntegration) await followClasses(deps);
  await watches.synced();
}

/** One for the whole cluster, less what is ignored: the server leaves that out. Or one for each namespace. */
function scopesOf({ scope }: ControllerOptions, fields: readonly string[] = []): readonly ListScope[] {
  const isGlobal = scope.mode === 'global';
  const ignored = isGlobal ? scope.ignore.map((namespace) => `metadata.namespace!=${namespace}`) : [];
  const fieldSelector = [...ignored, ...fields].join(',');
  const selected = fieldSelector === '' ? {} : { fieldSelector };
  return isGlobal ? [selected] : scope.namespaces.map((namespace) => ({ namespace, ...selected }));
}

/** Of sources only those that a label selects, if one is set. */
function sourceScopesOf(options: ControllerOptions, fields?: readonly string[]): readonly ListScope[] {
  const labelSelector = options.resourceLabelSelector;
  return scopesOf(options, fields).map((scope) => ({ ...scope, ...(labelSelector && { labelSelector }) }));
}

function kindsOf({ compat, isArgoRollouts, ignoredKinds }: ControllerOptions): readonly WorkloadKind[] {
  return WORKLOAD_KINDS.filter((row) => {
    if (ignoredKinds.has(row.kind)) return false;
    if (row.kind === 'Rollout') return isArgoRollouts;
    // Upstream gave it up.
    return row.kind !== 'DeploymentConfig' || !compat;
  });
}

type SourceEvent = Extract<ReflectEvent<Source>, { readonly type: 'add' | 'change' | 'remove' }>;

function followSources(deps: FollowDeps, resource: Resource, light: boolean, fields: readonly string[]): void {
  const { parser, sources, report, sourceSeen, inScope, listed, checkpoint } = deps;
  const scopes = sourceScopesOf(deps.options, fields);
  const kind = resource === SECRETS ? 'Secret' : 'ConfigMap';
  for (const { namespace } of scopes) checkpoint.awaits(kind, namespace);
  const synced = new Set<ListScope>();
  const note = (event: SourceEvent, scope: ListScope): void => {
    const { ref } = event.type === 'remove' ? event.previous : event.value;
    report.received(event.type, resource, inScope(ref.namespace));
    if (event.type === 'remove') {
      const version = Number(event.resourceVersion ?? event.goneBy ?? 0);
      const isSeen = event.resourceVersion !== undefined;
      sourceSeen(ref, sources.remove(ref, version, isSeen ? undefined : listed.toldOf(kind, scope)), version);
      return;
    }
    const born = event.type === 'add' && (!event.initial || synced.has(scope));
    const toldUpTo = event.initial ? listed.toldOf(kind, scope) : undefined;
    sourceSeen(ref, sources.put(event.value, born, toldUpTo), Number(event.resourceVersion));
  };
  const onEvent = (event: ReflectEvent<Source>, scope: ListScope): void => {
    if (event.type === 'add' || event.type === 'change' || event.type === 'remove') note(event, scope);
    const isFound = 'initial' in event && event.initial;
    if (!isFound && 'resourceVersion' in event && event.resourceVersion)
      listed.told(kind, scope, Number(event.resourceVersion));
    if (event.type !== 'synced') return;
    synced.add(scope);
    listed.add(kind, scope);
    checkpoint.listed(kind, scope.namespace);
  };
  report.following(resource, scopes);
  deps.watches.follow<Source>({
    resource,
    role: 'source',
    scopes,
    light,
    digest: (object, full, previous) => parser.source(kind, object, full, previous),
    onEvent,
  });
}

async function followKind(deps: FollowDeps, kind: WorkloadKind): Promise<void> {
  const { parser, engine, pauses, statuses, watches, checkpoint, listed } = deps;
  const scopes = scopesOf(deps.options);
  for (const { namespace } of scopes) checkpoint.awaits(kind.kind, namespace);
  const digest = (object: KubeObject, _full: boolean, previous: SeenWorkload | undefined): SeenWorkload => {
    const { namespace = '', name, resourceVersion, generation } = object.metadata;
    const known = engine.states.get(workloadKey({ kind: kind.kind, namespace, name }))?.workload;
    // The answer to our own write was this very version.
    if (known?.resourceVersion === resourceVersion) return { workload: known, generation };
    return parser.workload(kind, object, previous);
  };
  // The version up to which we know everything that happened.
  const completeUpTo = new Map<ListScope, number>();
  const onEvent = (event: ReflectEvent<SeenWorkload>, scope: ListScope): void => {
    const isFound = 'initial' in event && event.initial;
    if (!isFound && 'resourceVersion' in event && event.resourceVersion) {
      completeUpTo.set(scope, Number(event.resourceVersion));
      listed.toldOfWorkloads(kind.kind, scope, Number(event.resourceVersion));
    }
    if (event.type === 'synced') checkpoint.listed(kind.kind, scope.namespace);
    if (event.type === 'remove') {
      engine.workloadGone(workloadKey(event.previous.workload.ref));
      pauses.gone(event.previous.workload);
      statuses.workloadTouched(workloadKey(event.previous.workload.ref));
    }
    if (event.type !== 'add' && event.type !== 'change') return;
    engine.workloadSeen(event.value.workload, isFound ? 'list' : 'watch', completeUpTo.get(scope));
    pauses.seen(event.value.workload);
    statuses.workloadTouched(workloadKey(event.value.workload.ref));
  };
  const subscription = { resource: kind, role: 'workload', scopes, digest, onEvent } as const;
  if (kind.group === 'apps' || kind.group === 'batch') watches.follow<SeenWorkload>(subscription);
  else await watches.followOnceServed<SeenWorkload>(subscription);
}

/** What is followed when a selector says which namespaces count; their labels may change at any time. */
function followNamespaces(deps: FollowDeps, labelSelector: string): void {
  const { namespaces, engine, statuses, watches, report } = deps;
  report.following(NAMESPACES, [{}]);
  watches.follow<string>({
    resource: NAMESPACES,
    role: 'namespace',
    scopes: [{ labelSelector }],
    light: true,
    digest: (object) => object.metadata.name,
    onEvent(event) {
      if (event.type === 'add' || event.type === 'change' || event.type === 'remove')
        report.received(event.type, NAMESPACES, true);
      if (event.type === 'add') {
        namespaces.add(event.value);
        // A listing tells when it was last written, not since when it is selected.
        engine.namespaceChanged(event.value, event.initial ? Number.POSITIVE_INFINITY : Number(event.resourceVersion));
      }
      if (event.type === 'remove') {
        namespaces.delete(event.previous);
        engine.namespaceChanged(event.previous, Number.POSITIVE_INFINITY);
      }
      if (event.type === 'add' || event.type === 'remove') statuses.scopeChanged(event.key);
    },
  });
}

// Of classes of which nothing is left, so many are remembered: their pods may come back.
const MAX_GONE_CLASSES = 1000;

/** A class is a source whose data is known from the statuses of pods, and whose annotations are on the class itself. */
async function followClasses(deps: FollowDeps): Promise<void> {
  const { parser, sources, watches, sourceSeen, options, report, inScope } = deps;
  const classes = new Classes();
  const flags = new Map<string, Source>();
  const gone = new Map<string, SourceRef>();
  const scopes = scopesOf(options);
  /** After something came or went: a class without an object and without a status is forgotten after a while. */
  const review = (ref: SourceRef): void => {
    const key = `${ref.namespace}/${ref.name}`;
    gone.delete(key);
    if (!flags.has(key) && !classes.hasStatus(ref.namespace, ref.name)) gone.set(key, ref);
    const [oldest] = gone;
    if (!oldest || gone.size <= MAX_GONE_CLASSES) return;
    const [first, { namespace, name }] = oldest;
    gone.delete(first);
    classes.forget(namespace, name);
    sources.forget(oldest[1]);
  };
  const put = (ref: SourceRef, fingerprint: Source['fingerprint'], resourceVersion: string, born: boolean): void => {
    // As of other sources that are gone, what the rules read of a deleted class is remembered.
    const known: Partial<Source> & SourceFlags = flags.get(`${ref.namespace}/${ref.name}`) ?? sources.flags(ref);
    const { uid = '', ignored, matchable, labels } = known;
    const source: Source = { ref, uid, resourceVersion, fingerprint, ignored, matchable, labels };
    sourceSeen(ref, sources.put(source, born), Number(resourceVersion));
  };
  const onClass = (event: ReflectEvent<Source>): void => {
    if (event.type === 'remove') {
      flags.delete(event.key);
      review(event.previous.ref);
    }
    if (event.type !== 'add' && event.type !== 'change') return;
    flags.set(event.key, event.value);
    review(event.value.ref);
    const known = sources.get(event.value.ref);
    if (known) put(known.ref, known.fingerprint, event.resourceVersion, false);
  };
  const note = (status: ClassStatus, previous: ClassStatus | undefined, isFound: boolean): void => {
    const ref = classOf(status);
    const isNew = sources.get(ref) === undefined;
    const first = () => (isFound ? classes.listed(status) : classes.added(status));
    const moved = previous ? classes.changed(previous, status) : first();
    // What we first learn of a class is what its pods run with, not a change.
    if (moved) put(ref, moved, status.resourceVersion, !isNew && !isFound);
    if (!previous || previous.className !== status.className) review(ref);
    if (previous && previous.className !== status.className) review(classOf(previous));
  };
  const onStatus = (event: ReflectEvent<ClassStatus>): void => {
    if (event.type !== 'add' && event.type !== 'change' && event.type !== 'remove') return;
    const { namespace } = event.type === 'remove' ? event.previous : event.value;
    report.received(event.type, SECRET_PROVIDER_CLASS_POD_STATUSES, inScope(namespace));
    if (event.type === 'remove') {
      classes.removed(event.previous);
      review(classOf(event.previous));
    } else note(event.value, event.previous, event.initial);
  };
  await watches.followOnceServed<Source>({
    resource: SECRET_PROVIDER_CLASSES,
    role: 'other',
    scopes,
    light: true,
    digest: (object, _full, previous) => parser.source('SecretProviderClass', object, false, previous),
    onEvent: onClass,
  });
  report.following(SECRET_PROVIDER_CLASS_POD_STATUSES, scopes);
  await watches.followOnceServed<ClassStatus>({
    resource: SECRET_PROVIDER_CLASS_POD_STATUSES,
    role: 'source',
    scopes: sourceScopesOf(options),
    digest: (object) => parser.classStatus(object),
    onEvent: onStatus,
  });
}

const classOf = ({ namespace, className: name }: ClassStatus): SourceRef => ({
  kind: 'SecretProviderClass',
  namespace,
  name,
});
