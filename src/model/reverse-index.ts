import { type SourceKey, type SourceKind, type SourceRef, sourceKey } from '../api/sources.ts';
import type { NamePattern } from '../domain/asks/name-pattern.ts';
import type { WorkloadKey } from '../domain/workload/workload.ts';

/** What a workload may be concerned by: sources by their name, and patterns over the names of a namespace. */
export interface Interest {
  readonly literal: readonly SourceRef[];
  readonly patterns: readonly PatternInterest[];
}

export interface PatternInterest {
  readonly kind: SourceKind;
  readonly namespace: string;
  /** Undefined: whatever its name. */
  readonly pattern: NamePattern | undefined;
}

const NONE: Interest = { literal: [], patterns: [] };

/** Source → workloads that use or name it. A change finds its dependents without looking at the others. */
export class ReverseIndex {
  readonly #interests = new Map<WorkloadKey, Interest>();
  readonly #byName = new Map<SourceKey, Set<WorkloadKey>>();
  /** By the namespace of the sources. */
  readonly #byPattern = new Map<string, Set<WorkloadKey>>();

  set(key: WorkloadKey, interest: Interest): void {
    this.remove(key);
    this.#interests.set(key, interest);
    for (const ref of interest.literal) enter(this.#byName, sourceKey(ref), key);
    for (const { namespace } of interest.patterns) enter(this.#byPattern, namespace, key);
  }

  remove(key: WorkloadKey): void {
    const { literal, patterns } = this.interestOf(key);
    this.#interests.delete(key);
    for (const ref of literal) leave(this.#byName, sourceKey(ref), key);
    for (const { namespace } of patterns) leave(this.#byPattern, namespace, key);
  }

  *dependents(ref: SourceRef): Generator<WorkloadKey> {
    const named = this.#byName.get(sourceKey(ref));
    if (named) yield* named;
    for (const key of this.#byPattern.get(ref.namespace) ?? []) {
      if (!named?.has(key) && this.#matches(key, ref)) yield key;
    }
  }

  /** Whether anybody uses or names this source: only then are its bytes worth reading. */
  isWanted(ref: SourceRef): boolean {
    return !this.dependents(ref).next().done;
  }

  interestOf(key: WorkloadKey): Interest {
    return this.#interests.get(key) ?? NONE;
  }

  #matches(key: WorkloadKey, ref: SourceRef): boolean {
    return this.interestOf(key).patterns.some(
      ({ kind, namespace, pattern }) =>
        kind === ref.kind && namespace === ref.namespace && matchesName(pattern, ref.name),
    );
  }
}

/** Without a pattern every name does. */
export const matchesName = (pattern: NamePattern | undefined, name: string): boolean =>
  pattern === undefined || pattern.matches?.(name) === true;

function enter<K>(index: Map<K, Set<WorkloadKey>>, at: K, key: WorkloadKey): void {
  const set = index.get(at);
  if (set) set.add(key);
  else index.set(at, new Set([key]));
}

function leave<K>(index: Map<K, Set<WorkloadKey>>, at: K, key: WorkloadKey): void {
  const set = index.get(at);
  if (!set?.delete(key)) return;
  if (set.size === 0) index.delete(at);
}
