import type { SourceKind, SourceRef } from '../../api/sources.ts';

/**
 * Names a source from the point of view of a workload, in memory and in the ledger alike: `Kind/name` in the workload's own
 * namespace, as version 0.1.0 wrote it, and `Kind/namespace/name` elsewhere.
 */
export type SourceId = `${SourceKind}/${string}`;

/** `namespace` is the workload's. */
export const sourceId = (ref: SourceRef, namespace: string = ref.namespace): SourceId =>
  ref.namespace === namespace ? `${ref.kind}/${ref.name}` : `${ref.kind}/${ref.namespace}/${ref.name}`;

export function refOf(id: SourceId, namespace: string): SourceRef {
  const first = id.indexOf('/');
  const second = id.indexOf('/', first + 1);
  const kind = id.slice(0, first) as SourceKind;
  if (second < 0) return { kind, namespace, name: id.slice(first + 1) };
  return { kind, namespace: id.slice(first + 1, second), name: id.slice(second + 1) };
}
