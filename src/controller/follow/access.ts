import {
  CONFIG_MAPS,
  NAMESPACES,
  type Resource,
  SECRET_PROVIDER_CLASS_POD_STATUSES,
  SECRET_PROVIDER_CLASSES,
  SECRETS,
} from '../../api/resources.ts';
import type { ListScope } from '../../kube/client.ts';
import type { KubeError } from '../../kube/kube-error.ts';

/** What a kind is good for. */
export type Role = 'source' | 'workload' | 'namespace' | 'other';

/** A kind in one namespace, or in all ('' for both), and whether it can be followed. */
export interface Followed {
  readonly role: Role;
  readonly resource: Resource;
  readonly namespace: string;
  readonly isListed: boolean;
  /** Undefined: not tried yet. */
  readonly isWatched: boolean | undefined;
  readonly error: KubeError | undefined;
}

/** What the reflector of a kind tells about it. */
export interface FollowedReport {
  listed(): void;
  watching(): void;
  unwatchable(): void;
  unavailable(error: KubeError): void;
  /** It failed so often in a row, and is tried again. */
  failing(error: KubeError, failures: number): void;
}

// A server that has just started refuses what it accepts a moment later.
const MAX_UNAUTHORIZED = 3;
// Other troubles that last so long before a kind was ever followed are worth a word: about eight seconds.
const MAX_FAILURES = 6;

/** What can be followed, as far as is known: not by asking for rights, but by what came of using them. */
export class Access {
  readonly #followed: (Followed & FollowedReport)[] = [];
  readonly #changed: () => void;

  constructor(changed: () => void) {
    this.#changed = changed;
  }

  get followed(): readonly Followed[] {
    return this.#followed;
  }

  follows(resource: Resource, { namespace = '' }: ListScope): FollowedReport {
    const kind = new FollowedKind(resource, namespace, this.#changed);
    this.#followed.push(kind);
    return kind;
  }
}

class FollowedKind implements Followed, FollowedReport {
  readonly role: Role;
  readonly resource: Resource;
  readonly namespace: string;
  readonly #changed: () => void;
  isListed = false;
  isWatched: boolean | undefined;
  error: KubeError | undefined;

  constructor(resource: Resource, namespace: string, changed: () => void) {
    this.resource = resource;
    this.role = roleOf(resource);
    this.namespace = namespace;
    this.#changed = changed;
  }

  listed(): void {
    this.#become({ isListed: true, error: undefined });
  }

  watching(): void {
    this.#become({ isWatched: true, error: undefined });
  }

  unwatchable(): void {
    this.#become({ isWatched: false });
  }

  unavailable(error: KubeError): void {
    this.#become({ isListed: false, error });
  }

  failing(error: KubeError, failures: number): void {
    const isRefused = error.status === 401 && failures >= MAX_UNAUTHORIZED;
    // What was followed and cannot be reached just now is an outage, and passes.
    const isNew = !this.isListed || (this.role === 'source' && this.isWatched === undefined);
    if (isRefused || (isNew && failures >= MAX_FAILURES)) this.#become({ error });
  }

  #become(state: Partial<Pick<Followed, 'isListed' | 'isWatched' | 'error'>>): void {
    Object.assign(this, state);
    this.#changed();
  }
}

function roleOf(resource: Resource): Role {
  switch (resource) {
    case CONFIG_MAPS:
    case SECRETS:
    case SECRET_PROVIDER_CLASS_POD_STATUSES:
      return 'source';
    case NAMESPACES:
      return 'namespace';
    case SECRET_PROVIDER_CLASSES:
      return 'other';
    default:
      return 'workload';
  }
}
