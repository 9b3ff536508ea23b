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

/** A set takes 0.2 KB, and most sources have one dependent. */
type Dependents = WorkloadKey | Set<WorkloadKey>;

/** A pattern over the names of a namespace, and the workloads that have it. */
interface PatternGroup {
  readonly kind: SourceKind;
  readonly pattern: NamePattern | undefined;
  readonly workloads: Set<WorkloadKey>;
}

/** Source → workloads that use or name it. A change finds its dependents without looking at the others. */
export class ReverseIndex {
  readonly #interests = new Map<WorkloadKey, Interest>();
  readonly #byName = new Map<SourceKey, Dependents>();
  /** By the namespace of the sources, then by what is matched: an expression that many workloads have is tried once. */
  readonly #byPattern = new Map<string, Map<string, PatternGroup>>();

  set(key: WorkloadKey, interest: Interest): void {
    this.remove(key);
    this.#interests.set(key, interest);
    for (const ref of interest.literal) enter(this.#byName, sourceKey(ref), key);
    for (const { kind, namespace, pattern } of interest.patterns) {
      const groups = this.#byPattern.get(namespace) ?? new Map<string, PatternGroup>();
      const id = groupId(kind, pattern);
      const group = groups.get(id) ?? { kind, pattern, workloads: new Set() };
      group.workloads.add(key);
      this.#byPattern.set(namespace, groups.set(id, group));
    }
  }

  remove(key: WorkloadKey): void {
    const { literal, patterns } = this.interestOf(key);
    this.#interests.delete(key);
    for (const ref of literal) leave(this.#byName, sourceKey(ref), key);
    for (const { kind, namespace, pattern } of patterns) {
      const groups = this.#byPattern.get(namespace);
      const group = groups?.get(groupId(kind, pattern));
      group?.workloads.delete(key);
      if (group?.workloads.size === 0) groups?.delete(groupId(kind, pattern));
      if (groups?.size === 0) this.#byPattern.delete(namespace);
    }
  }

  *dependents(ref: SourceRef): Generator<WorkloadKey> {
    const named = this.#byName.get(sourceKey(ref));
    if (typeof named === 'string') yield named;
    else if (named) yield* named;
    const matched = new Set<WorkloadKey>();
    for (const { kind, pattern, workloads } of this.#byPattern.get(ref.namespace)?.values() ?? []) {
      if (kind !== ref.kind || !matchesName(pattern, ref.name)) continue;
      for (const key of workloads) {
        if (isAmong(named, key) || matched.has(key)) continue;
        matched.add(key);
        yield key;
      }
    }
  }

  /** Whether anybody uses or names this source: only then are its bytes worth reading. */
  isWanted(ref: SourceRef): boolean {
    return !this.dependents(ref).next().done;
  }

  interestOf(key: WorkloadKey): Interest {
    return this.#interests.get(key) ?? NONE;
  }
}

const groupId = (kind: SourceKind, pattern: NamePattern | undefined): string =>
  `${kind} ${pattern?.expression ?? pattern?.literal ?? ''}`;

/** Without a pattern every name does. */
export const matchesName = (pattern: NamePattern | undefined, name: string): boolean =>
  pattern === undefined || pattern.matches(name);

function enter<K>(index: Map<K, Dependents>, at: K, key: WorkloadKey): void {
  const found = index.get(at);
  if (found === undefined) index.set(at, key);
  else if (typeof found !== 'string') found.add(key);
  else if (found !== key) index.set(at, new Set([found, key]));
}

function leave<K>(index: Map<K, Dependents>, at: K, key: WorkloadKey): void {
  const found = index.get(at);
  if (found === key) index.delete(at);
  else if (typeof found === 'object' && found.delete(key) && found.size === 0) index.delete(at);
}

const isAmong = (found: Dependents | undefined, key: WorkloadKey): boolean =>
  typeof found === 'object' ? found.has(key) : found === key;
