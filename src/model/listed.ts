import type { KindName } from '../api/kinds.ts';
import type { SourceKind, SourceRef } from '../api/sources.ts';
import type { ListScope } from '../kube/client.ts';

/** Up to which version everything has been told, by namespace. */
type Told = Map<string, number>;

/** Which kinds of sources could be listed, and where; and how far we have heard. What could not be is not known to be absent. */
export class Listed {
  readonly #places = new Set<string>();
  readonly #sources = new Map<SourceKind, Told>();
  readonly #workloads = new Map<KindName, Told>();

  add(kind: SourceKind, { namespace = '' }: ListScope): void {
    this.#places.add(`${kind}/${namespace}`);
  }

  /** How many could be listed, by kind and namespace. */
  get places(): number {
    return this.#places.size;
  }

  has({ kind, namespace }: SourceRef): boolean {
    // Classes are told by the pods that mount them: one without pods is not absent.
    if (kind === 'SecretProviderClass') return true;
    return this.#places.has(`${kind}/`) || this.#places.has(`${kind}/${namespace}`);
  }

  /** Everything that happened to a kind of source there, up to this version, has been told. */
  told(kind: SourceKind, scope: ListScope, version: number): void {
    note(this.#sources, kind, scope, version);
  }

  toldOf(kind: SourceKind, { namespace = '' }: ListScope): number | undefined {
    return this.#sources.get(kind)?.get(namespace);
  }

  /** The same for a kind of workload. */
  toldOfWorkloads(kind: KindName, scope: ListScope, version: number): void {
    note(this.#workloads, kind, scope, version);
  }

  /** For each kind of source the version up to which everything has been told, wherever it is followed. */
  seen(): Partial<Record<SourceKind, number>> {
    return Object.fromEntries([...this.#sources].map(([kind, told]) => [kind, leastOf(told)]));
  }

  /** The same for each kind of workload. */
  seenWorkloads(): Partial<Record<KindName, number>> {
    return Object.fromEntries([...this.#workloads].map(([kind, told]) => [kind, leastOf(told)]));
  }
}

function note<Kind>(all: Map<Kind, Told>, kind: Kind, { namespace = '' }: ListScope, version: number): void {
  const told = all.get(kind) ?? new Map<string, number>();
  all.set(kind, told.set(namespace, version));
}

const leastOf = (told: Told): number => Math.min(...told.values());
