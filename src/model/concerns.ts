import type { SourceRef } from '../api/sources.ts';
import type { Verdict } from '../domain/judge/verdict.ts';
import { refOf, type SourceId, sourceId } from '../domain/ledger/source-id.ts';
import { type WorkloadRef, workloadKey } from '../domain/workload/workload.ts';
import { matchesName, type ReverseIndex } from './reverse-index.ts';
import type { SourceHistory } from './sources/source-history.ts';

/** Where the sources of a workload are looked up. */
export interface Known {
  readonly index: ReverseIndex;
  readonly sources: SourceHistory;
  readonly inScope: (namespace: string) => boolean;
}

/** Sources that a workload uses, names, or was once rolled for: those are `remembered`, by us or by those before us. */
export function* concernsOf(
  { index, sources, inScope }: Known,
  ref: WorkloadRef,
  remembered: Iterable<SourceId>,
): Generator<SourceRef> {
  const { namespace: own } = ref;
  if (!inScope(own)) return;
  const { literal, patterns } = index.interestOf(workloadKey(ref));
  const seen = new Set<SourceId>();
  for (const source of literal) {
    if (!inScope(source.namespace)) continue;
    seen.add(sourceId(source, own));
    yield source;
  }
  for (const { kind, namespace, pattern } of patterns.filter((each) => inScope(each.namespace))) {
    for (const source of sources.inNamespace(kind, namespace)) {
      if (seen.has(sourceId(source.ref, own)) || !matchesName(pattern, source.ref.name)) continue;
      seen.add(sourceId(source.ref, own));
      yield source.ref;
    }
  }
  for (const id of remembered) {
    const source = refOf(id, own);
    if (!seen.has(id) && inScope(source.namespace)) yield source;
  }
}

/** Whether a workload is in a namespace, or may be concerned by what is in it. */
export function reachesInto({ index }: Pick<Known, 'index'>, ref: WorkloadRef, namespace: string): boolean {
  if (ref.namespace === namespace) return true;
  const { literal, patterns } = index.interestOf(workloadKey(ref));
  return [...literal, ...patterns].some((each) => each.namespace === namespace);
}

/** A change that only an unreadable annotation holds back is not forgotten: it rolls when the annotation is mended. */
export const staysOpen = (verdict: Verdict): boolean => verdict.reload || verdict.because === 'invalid-annotation';
