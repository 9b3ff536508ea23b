import type { KindName } from '../api/kinds.ts';
import { SOURCE_TYPE, type SourceRef } from '../api/sources.ts';
import type { ControllerOptions } from './controller-options.ts';
import { matches, parseSelector } from './text/selector.ts';
import type { WorkloadRef } from './workload/workload.ts';

type Labels = Readonly<Record<string, string>>;

/** Why the controller does not even see something, and what would let it. */
export interface NotWatched {
  readonly rule: string;
  readonly cure: string;
}

export interface WatchScope
  extends Pick<ControllerOptions, 'scope' | 'isArgoRollouts' | 'compat'>,
    Pick<
      ControllerOptions,
      'resourcesToIgnore' | 'resourceLabelSelector' | 'enableCsiIntegration' | 'watchHelmSecrets'
    > {
  /** Undefined: whoever asks knows that it is not set. */
  readonly webhookUrl?: string;
}

/** None: workloads of this kind in this namespace are watched. `labels` of the namespace; undefined: not known. */
export function notWatchedBecause(
  { kind, namespace }: Pick<WorkloadRef, 'kind' | 'namespace'>,
  labels: Labels | undefined,
  settings: WatchScope,
): readonly NotWatched[] {
  const found: NotWatched[] = [];
  if (settings.webhookUrl) {
    const rule = '--webhook-url is set: changes are posted and nothing is reloaded';
    found.push({ rule, cure: 'remove --webhook-url' });
  }
  const byKind = kindNotWatchedBecause(kind, settings);
  return [...found, ...byKind, ...namespaceNotWatchedBecause(namespace, labels, settings)];
}

/** None: workloads of this kind are watched, where any are. */
export function kindNotWatchedBecause(
  kind: KindName,
  { isArgoRollouts, compat }: Pick<WatchScope, 'isArgoRollouts' | 'compat'>,
): readonly NotWatched[] {
  if (kind === 'Rollout' && !isArgoRollouts) {
    return [{ rule: 'Rollouts are not watched', cure: 'set --is-Argo-Rollouts=true' }];
  }
  if (kind !== 'DeploymentConfig' || !compat) return [];
  const rule = '--compat=stakater leaves out every DeploymentConfig';
  return [{ rule, cure: 'remove --compat=stakater' }];
}

/** None: the namespace is watched, as far as is known. */
export function namespaceNotWatchedBecause(
  namespace: string,
  labels: Labels | undefined,
  { scope }: Pick<WatchScope, 'scope'>,
): readonly NotWatched[] {
  if (scope.mode === 'namespaces') {
    if (scope.namespaces.includes(namespace)) return [];
    const rule = `only these namespaces are watched: ${scope.namespaces.join(', ')}`;
    return [{ rule, cure: `add ${namespace} to --namespaces` }];
  }
  const found: NotWatched[] = [];
  if (scope.ignore.includes(namespace)) {
    const rule = `--namespaces-to-ignore leaves out namespace ${namespace}`;
    found.push({ rule, cure: `take ${namespace} out of --namespaces-to-ignore` });
  }
  if (scope.selector !== undefined && labels !== undefined && !isSelected(scope.selector, labels)) {
    found.push(notSelected(namespace, scope.selector));
  }
  return found;
}

export const notSelected = (namespace: string, selector: string): NotWatched => ({
  rule: `--namespace-selector=${selector} does not match the labels of namespace ${namespace}`,
  cure: `give namespace ${namespace} labels that match ${selector}`,
});

/** The same for a source; `labels` undefined: not known. */
export function sourceNotWatchedBecause(
  ref: SourceRef,
  labels: Labels | undefined,
  settings: WatchScope,
): readonly NotWatched[] {
  const { resourcesToIgnore, resourceLabelSelector: selector, enableCsiIntegration } = settings;
  const found: NotWatched[] = [];
  const plural = `${SOURCE_TYPE[ref.kind].toLowerCase()}s`;
  if (resourcesToIgnore.has(plural as 'configmaps' | 'secrets')) {
    const rule = `--resources-to-ignore=${plural} leaves out every ${ref.kind}`;
    found.push({ rule, cure: `remove --resources-to-ignore=${plural}` });
  }
  if (ref.kind === 'SecretProviderClass') {
    const rule = 'SecretProviderClasses are not watched';
    return enableCsiIntegration ? found : [...found, { rule, cure: 'set --enable-csi-integration' }];
  }
  found.push(...helmReleaseNotWatched(ref, settings));
  if (selector !== undefined && labels !== undefined && !isSelected(selector, labels)) {
    const rule = `--resource-label-selector=${selector} does not match the labels of ${ref.kind} ${ref.name}`;
    found.push({ rule, cure: `give ${ref.kind} ${ref.name} labels that match ${selector}` });
  }
  return found;
}

/** The controller goes by their type, which a list of names does not tell; Helm gives them names that nobody else does. */
export function helmReleaseNotWatched(
  { kind, name }: Pick<SourceRef, 'kind' | 'name'>,
  { watchHelmSecrets }: Pick<WatchScope, 'watchHelmSecrets'>,
): readonly NotWatched[] {
  if (watchHelmSecrets || kind !== 'Secret' || !name.startsWith('sh.helm.release.v1.')) return [];
  const rule = 'Secrets in which Helm keeps its releases are not watched';
  return [{ rule, cure: 'set --watch-helm-secrets=true' }];
}

function isSelected(selector: string, labels: Labels): boolean {
  const parsed = parseSelector(selector);
  return 'error' in parsed || matches(parsed.selector, labels);
}
