import type { SourceRef } from '../api/sources.ts';
import type { Verdict } from '../domain/judge/verdict.ts';
import type { SourceId } from '../domain/ledger/source-id.ts';
import { workloadKey } from '../domain/workload/workload.ts';
import type { ReverseIndex } from './reverse-index.ts';
import type { SourceHistory } from './sources/source-history.ts';
import { refOf, sourceId, type WorkloadState } from './workload-state.ts';

/** Where the sources of a workload are looked up. */
export interface Known {
  readonly graph: ReverseIndex;
  readonly sources: SourceHistory;
  readonly inScope: (namespace: string) => boolean;
}

/** Sources that a workload uses, names, or was once rolled for: `remembered` by us, or by those before us. */
export function* concernsOf(
  { graph, sources, inScope }: Known,
  state: WorkloadState,
  remembered: Iterable<SourceId> = state.applied.keys(),
): Generator<SourceRef> {
  const { ref } = state.workload;
  if (!inScope(ref.namespace)) return;
  const key = workloadKey(ref);
  const seen = new Set<SourceId>();
  for (const { kind, name } of graph.literalsOf(key)) {
    seen.add(sourceId({ kind, name }));
    yield { kind, namespace: ref.namespace, name };
  }
  for (const { kind, pattern } of graph.patternsOf(key)) {
    for (const source of sources.inNamespace(kind, ref.namespace)) {
      if (seen.has(sourceId(source.ref)) || !pattern.matches?.(source.ref.name)) continue;
      seen.add(sourceId(source.ref));
      yield source.ref;
    }
  }
  for (const id of remembered) if (!seen.has(id)) yield refOf(id, ref.namespace);
}

/** A change that only an unreadable annotation holds back is not forgotten: it rolls when the annotation is mended. */
export const staysOpen = (verdict: Verdict): boolean => verdict.reload || verdict.because === 'invalid-annotation';
