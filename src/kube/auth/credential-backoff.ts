import { upperJitter } from '../../runtime/backoff.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { TlsOptions } from './connection.ts';

/** What we show to the server: a header, and what the next connection shows. */
export interface Proof {
  readonly header: string | undefined;
  readonly tls: TlsOptions;
}

interface Refusal {
  readonly proof: Proof;
  readonly count: number;
  /** What the server is not asked before. */
  until: number;
}

// Whoever has to renew it is a person or a program that takes its time. CallContext in vain, a server is busy for nothing, and
// some lock an account out.
const BACKOFF = { baseMs: 1000, capMs: 60_000 };
// While the answer of one is on its way, the others wait for it.
const ASKING_MS = 5000;
// A leader has ten seconds to renew its Lease, and asks as seldom as it may already.
const URGENT = 'coordination.k8s.io';

/**
 * Keeps a credential that was refused from being shown again and again: one call in a growing time asks for all of them.
 * Another credential is shown at once. Each API group counts for itself, because some are served by somebody else.
 */
export class CredentialBackoff {
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #refusals = new Map<string, Refusal>();

  constructor(clock: Clock, random: () => number = Math.random) {
    this.#clock = clock;
    this.#random = random;
  }

  /** Whether it is known that the server would say no. `proof` is asked for only where that is needed. */
  mustWait(path: string, proof: () => Proof): boolean {
    const refusal = this.#refusals.get(groupOf(path));
    if (!refusal || !isSame(refusal.proof, proof())) return false;
    const now = this.#clock.now();
    if (now < refusal.until) return true;
    refusal.until = now + ASKING_MS;
    return false;
  }

  refused(path: string, proof: Proof): void {
    const group = groupOf(path);
    if (group === URGENT) return;
    const last = this.#refusals.get(group);
    const count = last && isSame(last.proof, proof) ? last.count + 1 : 1;
    const until = this.#clock.now() + upperJitter(count, BACKOFF, this.#random);
    this.#refusals.set(group, { proof, count, until });
  }

  accepted(path: string): void {
    if (this.#refusals.size > 0) this.#refusals.delete(groupOf(path));
  }
}

const isSame = (one: Proof, other: Proof): boolean => one.header === other.header && one.tls === other.tls;

const groupOf = (path: string): string => /^\/apis\/([^/]+)/.exec(path)?.[1] ?? '';

/** Which credential it was that was refused, and what may be wrong with it. */
export function refusalWords(server: string, { header, tls }: Proof): string {
  if (header?.startsWith('Bearer ')) {
    return `${server} does not accept the token: it has expired, was withdrawn, or is that of another cluster`;
  }
  if (header !== undefined) return `${server} does not accept the user name with the password`;
  return tls.cert || tls.pfx
    ? `${server} does not accept the client certificate: it has expired, or is that of another cluster`
    : `${server} wants a credential, and there is none in the kubeconfig`;
}
