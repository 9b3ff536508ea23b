import { type Finding, quote } from './finding.ts';
import { selectorOf } from './label-selector.ts';
import type { Values } from './options.ts';

/** Which namespaces are watched. */
export type Scope =
  | { readonly mode: 'global'; readonly ignore: readonly string[]; readonly selector: string | undefined }
  /** Nothing cluster-wide is asked for: Roles in these namespaces are enough. */
  | { readonly mode: 'namespaces'; readonly namespaces: readonly string[] };

/** --namespaces, then KUBERNETES_NAMESPACE, then everything. */
export function scopeOf(values: Values, finding: Finding): Scope {
  const { namespaces, kubernetesNamespace, namespacesToIgnore } = values;
  const ignore = names(namespacesToIgnore);
  const selector = selectorOf('namespaceSelector', values, finding);
  const only = namespaces.length > 0 ? names(namespaces) : names([kubernetesNamespace]);

  // An empty name means "all namespaces" to the API: a stray comma must not widen the scope.
  if (namespaces.length > 0 && only.length === 0) finding.problems.push('--namespaces must name a namespace');
  const given = namespaces.length > 0 ? '--namespaces' : 'KUBERNETES_NAMESPACE';
  for (const name of only.filter((each) => !isNamespaceName(each))) {
    finding.problems.push(`${given} must hold names of namespaces, not ${quote(name)}`);
  }

  if (only.length > 0) {
    const why = `has no effect, as ${given} says which namespaces are watched`;
    if (ignore.length > 0) finding.warnings.push(`--namespaces-to-ignore ${why}`);
    if (selector) finding.warnings.push(`--namespace-selector ${why}`);
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
