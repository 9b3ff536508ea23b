import type { SourceKind, SourceRef } from '../api/sources.ts';
import type { Scope } from '../kube/client.ts';

/** Which kinds of sources could be listed, and where. What could not be is not known to be absent. */
export class Listed {
  readonly #places = new Set<string>();

  add(kind: SourceKind, { namespace = '' }: Scope): void {
    this.#places.add(`${kind}/${namespace}`);
  }

  has({ kind, namespace }: SourceRef): boolean {
    // Classes are told by the pods that mount them: one without pods is not absent.
    if (kind === 'SecretProviderClass') return true;
    return this.#places.has(`${kind}/`) || this.#places.has(`${kind}/${namespace}`);
  }
}
