import type { WatchedNamespaces } from '../domain/controller-options.ts';
import { type Diagnostics, quote } from './diagnostics.ts';
import { selectorOf } from './label-selector.ts';
import type { ControllerValues } from './options/controller.ts';

/** --namespaces, then KUBERNETES_NAMESPACE, then everything. */
export function watchedNamespaces(values: ControllerValues, diagnostics: Diagnostics): WatchedNamespaces {
  const { namespaces, kubernetesNamespace, namespacesToIgnore } = values;
  const ignore = names(namespacesToIgnore);
  const selector = selectorOf('namespaceSelector', values, diagnostics);
  const only = namespaces.length > 0 ? names(namespaces) : names([kubernetesNamespace]);

  // An empty name means "all namespaces" to the API: a stray comma must not widen the scope.
  if (namespaces.length > 0 && only.length === 0) diagnostics.problems.push('--namespaces must name a namespace');
  const given = namespaces.length > 0 ? '--namespaces' : 'KUBERNETES_NAMESPACE';
  for (const name of only.filter((each) => !isNamespaceName(each))) {
    diagnostics.problems.push(`${given} must hold names of namespaces, not ${quote(name)}`);
  }

  if (only.length > 0) {
    const why = `has no effect, as ${given} says which namespaces are watched`;
    if (ignore.length > 0) diagnostics.warnings.push(`--namespaces-to-ignore ${why}`);
    if (selector) diagnostics.warnings.push(`--namespace-selector ${why}`);
    return { mode: 'namespaces', namespaces: only };
  }
  return { mode: 'global', ignore, selector };
}

/** A namespace named twice is watched once. */
const names = (list: readonly string[]): readonly string[] => [
  ...new Set(list.map((name) => name.trim()).filter((name) => name !== '')),
];

export const isNamespaceName = (name: string): boolean =>
  name.length <= 63 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(name);
