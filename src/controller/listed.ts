import type { SourceKind, SourceRef } from '../api/sources.ts';
import type { Scope } from '../kube/client.ts';

/** Which kinds of sources could be listed, and where; and how far we have heard. What could not be is not known to be absent. */
export class Listed {
  readonly #places = new Set<string>();
  readonly #told = new Map<SourceKind, Map<string, number>>();

  add(kind: SourceKind, { namespace = '' }: Scope): void {
    this.#places.add(`${kind}/${namespace}`);
  }

  has({ kind, namespace }: SourceRef): boolean {
    // Classes are told by the pods that mount them: one without pods is not absent.
    if (kind === 'SecretProviderClass') return true;
    return this.#places.has(`${kind}/`) || this.#places.has(`${kind}/${namespace}`);
  }

  /** Everything that happened to a kind there, up to this version, has been told. */
  told(kind: SourceKind, { namespace = '' }: Scope, version: number): void {
    const places = this.#told.get(kind) ?? new Map<string, number>();
    this.#told.set(kind, places.set(namespace, version));
  }

  toldOf(kind: SourceKind, { namespace = '' }: Scope): number | undefined {
    return this.#told.get(kind)?.get(namespace);
  }

  /** For each kind the version up to which everything has been told, wherever it is followed. */
  seen(): Partial<Record<SourceKind, number>> {
    return Object.fromEntries([...this.#told].map(([kind, places]) => [kind, Math.min(...places.values())]));
  }
}
