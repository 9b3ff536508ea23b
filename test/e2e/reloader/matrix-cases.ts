import { DEFAULT_KEYS } from '../../../src/api/annotations.ts';
import { type KindName, WORKLOAD_KINDS } from '../../../src/api/kinds.ts';
import {
  podUsing,
  REFERENCES,
  type Reference,
  type SourceName,
  type WorkloadOptions,
} from '../../support/workloads.ts';

/** One controller: a mode and a strategy. */
export interface Group {
  readonly compat: boolean;
  readonly strategy: 'env-vars' | 'annotations';
}

export const GROUPS: readonly Group[] = [false, true].flatMap((compat) =>
  (['env-vars', 'annotations'] as const).map((strategy) => ({ compat, strategy })),
);

/** One workload and one source, both of this name. */
export interface Case {
  readonly name: string;
  readonly kind: KindName;
  readonly source: SourceName;
  readonly reference: Reference;
  readonly how: 'auto' | 'named';
}

const SOURCES = ['ConfigMap', 'Secret'] as const;

export const CASES: readonly Case[] = WORKLOAD_KINDS.flatMap(({ kind }) =>
  SOURCES.flatMap((source) =>
    REFERENCES.filter((reference) => reference !== 'imagePullSecrets' || source === 'Secret').flatMap((reference) =>
      (['auto', 'named'] as const).map((how) => {
        const name = `${kind}-${source}-${reference}-${how}`.toLowerCase();
        return { name, kind, source: { kind: source, name }, reference, how };
      }),
    ),
  ),
);

export function optionsOf({ source, reference, how }: Case): WorkloadOptions {
  const annotations =
    how === 'auto' ? { [DEFAULT_KEYS.auto]: 'true' } : { [DEFAULT_KEYS.named[source.kind]]: source.name };
  return { annotations, pod: podUsing(source, reference) };
}

/** Whether the workload rolls, written down from the contract and not computed by the product. */
export function rolls({ kind, reference, how }: Case, { compat }: Group): boolean {
  if (kind === 'DeploymentConfig' && compat) return false;
  if (how === 'named') return true;
  return reference !== 'unmounted-volume' && (reference !== 'imagePullSecrets' || !compat);
}

/** The container that carries the mark: what stands for an init container or for the whole pod is the first one. */
export function container({ reference }: Case): 'idle' | 'app' {
  const used: readonly Reference[] = ['envFrom', 'valueFrom', 'volume', 'projected', 'projected-mixed'];
  return used.includes(reference) ? 'app' : 'idle';
}
