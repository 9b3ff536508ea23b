import type { SourceRef } from '../api/sources.ts';
import type { NamePattern } from '../domain/asks/name-pattern.ts';
import type { WorkloadKey } from '../domain/workload/workload.ts';

/** What a workload may be concerned by: sources by their name, and patterns over names, in its own namespace. */
export interface Interest {
  readonly literal: readonly { readonly kind: SourceRef['kind']; readonly name: string }[];
  readonly patterns: readonly { readonly kind: SourceRef['kind']; readonly pattern: NamePattern }[];
}

/** Reverse index: source → workloads that use or name it. A change finds its dependents without looking at the others. */
export class ReverseIndex {
  readonly #interests = new Map<WorkloadKey, Interest & { readonly namespace: string }>();
  readonly #byName = new Map<string, Set<WorkloadKey>>();
  readonly #byPattern = new Map<string, Set<WorkloadKey>>();

  set(key: WorkloadKey, namespace: string, interest: Interest): void {
    this.remove(key);
    this.#interests.set(key, { ...interest, namespace });
    for (const { kind, name } of interest.literal) enter(this.#byName, `${kind}/${namespace}/${name}`, key);
    if (interest.patterns.length > 0) enter(this.#byPattern, namespace, key);
  }

  remove(key: WorkloadKey): void {
    const interest = this.#interests.get(key);
    if (!interest) return;
    this.#interests.delete(key);
    for (const { kind, name } of interest.literal) leave(this.#byName, `${kind}/${interest.namespace}/${name}`, key);
    if (interest.patterns.length > 0) leave(this.#byPattern, interest.namespace, key);
  }

  *dependents(ref: SourceRef): Generator<WorkloadKey> {
    const named = this.#byName.get(`${ref.kind}/${ref.namespace}/${ref.name}`);
    if (named) yield* named;
    for (const key of this.#byPattern.get(ref.namespace) ?? []) {
      if (!named?.has(key) && this.#matches(key, ref)) yield key;
    }
  }

  /** Whether anybody uses or names this source: only then are its bytes worth reading. */
  isWanted(ref: SourceRef): boolean {
    return !this.dependents(ref).next().done;
  }

  literalsOf(key: WorkloadKey): Interest['literal'] {
    return this.#interests.get(key)?.literal ?? [];
  }

  patternsOf(key: WorkloadKey): Interest['patterns'] {
    return this.#interests.get(key)?.patterns ?? [];
  }

  #matches(key: WorkloadKey, ref: SourceRef): boolean {
    return this.patternsOf(key).some(({ kind, pattern }) => kind === ref.kind && pattern.matches?.(ref.name) === true);
  }
}

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
