import type { Fingerprint } from '../../domain/source/source.ts';

/** What one pod's status says about a class. */
export interface ClassStatus {
  readonly namespace: string;
  readonly className: string;
  readonly resourceVersion: string;
  readonly fingerprint: Fingerprint;
}

interface ClassState {
  /** Of how many pods there is a status. */
  statuses: number;
  current: Fingerprint;
  version: string;
  /** Every value seen so far, newest last. */
  readonly seen: string[];
}

const MAX_SEEN = 32;

/**
 * SecretProviderClasses have no data of their own: each pod's status tells what was mounted into it, so old and new
 * values stand side by side while a rotation spreads.
 *
 * A class moves when an existing status leaves the current value, or shows one that was never seen. Statuses that come
 * and go with their pods, and those that follow late, move nothing.
 */
export class Classes {
  readonly #classes = new Map<string, ClassState>();

  /** A status appeared. Moves the class only if it is the first word about it. */
  added(status: ClassStatus): Fingerprint | undefined {
    const key = `${status.namespace}/${status.className}`;
    const known = this.#classes.get(key);
    if (!known) {
      const { fingerprint: current, resourceVersion: version } = status;
      this.#classes.set(key, { statuses: 1, current, version, seen: [current.exact] });
      return current;
    }
    known.statuses += 1;
    remember(known, status.fingerprint.exact);
    return undefined;
  }

  /** A status is gone. The class stays as it is: its pods may only be scaled to none. */
  removed({ namespace, className }: ClassStatus): void {
    const known = this.#classes.get(`${namespace}/${className}`);
    if (known) known.statuses -= 1;
  }

  /** Whether there is a status of this class. */
  hasStatus(namespace: string, className: string): boolean {
    return (this.#classes.get(`${namespace}/${className}`)?.statuses ?? 0) > 0;
  }

  forget(namespace: string, className: string): void {
    this.#classes.delete(`${namespace}/${className}`);
  }

  /** While listing, the status written last tells what is current. */
  listed(status: ClassStatus): Fingerprint | undefined {
    const known = this.#classes.get(`${status.namespace}/${status.className}`);
    if (!known || Number(status.resourceVersion) <= Number(known.version)) return this.added(status);
    known.statuses += 1;
    return this.#move(known, status);
  }

  changed(before: ClassStatus, after: ClassStatus): Fingerprint | undefined {
    const known = this.#classes.get(`${after.namespace}/${after.className}`);
    if (before.className !== after.className) this.removed(before);
    if (!known || before.className !== after.className) return this.added(after);
    const { exact } = after.fingerprint;
    if (exact === before.fingerprint.exact || exact === known.current.exact) return undefined;
    const leavesCurrent = before.fingerprint.exact === known.current.exact;
    if (!leavesCurrent && known.seen.includes(exact)) return undefined;
    return this.#move(known, after);
  }

  #move(known: ClassState, status: ClassStatus): Fingerprint {
    known.current = status.fingerprint;
    known.version = status.resourceVersion;
    remember(known, status.fingerprint.exact);
    return status.fingerprint;
  }
}

function remember(state: ClassState, exact: string): void {
  if (state.seen.includes(exact)) return;
  state.seen.push(exact);
  if (state.seen.length > MAX_SEEN) state.seen.shift();
}
