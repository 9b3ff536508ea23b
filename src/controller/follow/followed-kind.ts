import type { Resource } from '../../api/resources.ts';
import type { KubeError } from '../../kube/kube-error.ts';

/** What a kind is followed for. */
export type Role = 'source' | 'workload' | 'namespace' | 'other';

// A server that has just started refuses what it accepts a moment later.
const MAX_UNAUTHORIZED = 3;
// Other errors that last so long before a kind was ever followed are reported: about eight seconds.
const MAX_FAILURES = 6;

/**
 * A kind in one namespace, or in all ('' for both), and whether it can be followed. That is learned not by asking for
 * rights, but by what came of using them; its reflector tells.
 */
export class FollowedKind {
  readonly role: Role;
  readonly resource: Resource;
  readonly namespace: string;
  isListed = false;
  error: KubeError | undefined;
  #isWatched: boolean | undefined;
  readonly #changed: () => void;

  constructor(role: Role, resource: Resource, namespace: string, changed: () => void) {
    this.role = role;
    this.resource = resource;
    this.namespace = namespace;
    this.#changed = changed;
  }

  /** A source's changes come by its watch alone; workloads can be listed when one comes. */
  get isUsable(): boolean {
    return this.isListed && this.error === undefined && (this.role !== 'source' || this.#isWatched === true);
  }

  /** Whether it is certain by now that it can be used, or that it cannot. */
  get isKnown(): boolean {
    return this.error !== undefined || this.#isWatched === false || this.isUsable;
  }

  listed(): void {
    this.isListed = true;
    this.error = undefined;
    this.#changed();
  }

  watching(): void {
    this.#isWatched = true;
    this.error = undefined;
    this.#changed();
  }

  unwatchable(): void {
    this.#isWatched = false;
    this.#changed();
  }

  unavailable(error: KubeError): void {
    this.isListed = false;
    this.error = error;
    this.#changed();
  }

  /** It failed so often in a row, and is tried again. */
  failing(error: KubeError, failures: number): void {
    const isRefused = error.status === 401 && failures >= MAX_UNAUTHORIZED;
    // What was followed and cannot be reached just now is an outage, and passes.
    const isNew = !this.isListed || (this.role === 'source' && this.#isWatched === undefined);
    if (!isRefused && !(isNew && failures >= MAX_FAILURES)) return;
    this.error = error;
    this.#changed();
  }
}
