import { upperJitter } from '../../runtime/backoff.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { TlsOptions } from './connection.ts';

/** What the server knows us by: the Authorization header, and the client certificate of a new connection. */
export interface Credentials {
  readonly header: string | undefined;
  readonly tls: TlsOptions;
}

interface Refusal {
  readonly credential: Credentials;
  readonly count: number;
  /** When the next call may be sent with it. */
  until: number;
}

// Somebody has to renew it, which takes time. Trying it again and again loads the server, and some lock the account.
const BACKOFF = { baseMs: 1000, capMs: 60_000 };
// While one call tries it again, the others wait for the result.
const TRIAL_MS = 5000;
// Never delayed: a leader has only ten seconds to renew its Lease.
const LEASES_GROUP = 'coordination.k8s.io';

/**
 * Back-off for a credential that the server refused with 401: only one call in a growing interval tries it again.
 * A new credential is tried at once. Each API group counts for itself, because an aggregated one has its own server.
 */
export class CredentialBackoff {
  readonly #clock: Clock;
  readonly #refusals = new Map<string, Refusal>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether the call would only be refused again. `credential` is called only after a refusal. */
  mustWait(path: string, credential: () => Credentials): boolean {
    const refusal = this.#refusals.get(groupOf(path));
    if (!refusal || !isSame(refusal.credential, credential())) return false;
    const now = this.#clock.now();
    if (now < refusal.until) return true;
    refusal.until = now + TRIAL_MS;
    return false;
  }

  refused(path: string, credential: Credentials): void {
    const group = groupOf(path);
    if (group === LEASES_GROUP) return;
    const last = this.#refusals.get(group);
    const count = last && isSame(last.credential, credential) ? last.count + 1 : 1;
    const until = this.#clock.now() + upperJitter(count, BACKOFF, Math.random);
    this.#refusals.set(group, { credential, count, until });
  }

  accepted(path: string): void {
    if (this.#refusals.size > 0) this.#refusals.delete(groupOf(path));
  }
}

const isSame = (one: Credentials, other: Credentials): boolean => one.header === other.header && one.tls === other.tls;

const groupOf = (path: string): string => /^\/apis\/([^/]+)/.exec(path)?.[1] ?? '';

/** Which credential was refused, and what may be wrong with it. */
export function describeRefusal(server: string, { header, tls }: Credentials): string {
  if (header?.startsWith('Bearer ')) {
    return `${server} does not accept the token: it has expired, was withdrawn, or is that of another cluster`;
  }
  if (header !== undefined) return `${server} does not accept the user name with the password`;
  return tls.cert
    ? `${server} does not accept the client certificate: it has expired, or is that of another cluster`
    : `${server} wants a credential, and there is none in the kubeconfig`;
}
