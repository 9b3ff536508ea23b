import { LEASES } from '../../api/resources.ts';
import { pause } from '../../runtime/backoff.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { KubeClient } from '../client.ts';
import { KubeError } from '../kube-error.ts';
import { type Lease, microTime } from './lease-object.ts';

/** What a leader holds in its hand. */
export interface HeldLease {
  /** True until the time is over within which the lease had to be renewed, whether or not anybody noticed. */
  held(): boolean;
}

export interface ElectionOptions {
  readonly client: Pick<KubeClient, 'get' | 'create' | 'replace' | 'watch'>;
  readonly namespace: string;
  readonly name: string;
  /** Unlike that of every other candidate, also of this one's own former life. */
  readonly identity: string;
  readonly clock: Clock;
  readonly onLeading: (leadership: HeldLease) => void;
  /** The leadership is over; nothing may be written any more. Not called for a release of our own. */
  readonly onLost: () => void;
  /** Somebody leads now, perhaps ourselves; '' when nobody does. */
  readonly onHolder?: ((identity: string) => void) | undefined;
  /** A renewal or a look at the lease went wrong; it is tried again. */
  readonly onError?: ((error: KubeError) => void) | undefined;
}

// client-go's defaults, so that our leaders and its leaders can follow each other.
const LEASE_SECONDS = 15;
const RENEW_DEADLINE_MS = 10_000;
const RETRY_MS = 2000;
// A connection that hangs must leave time for another.
const ATTEMPT_MS = RENEW_DEADLINE_MS / 2;

/**
 * Takes part in the election until aborted, and then gives the lease back.
 *
 * Invariants
 *  1. Nobody leads beyond the renew deadline, counted from before the last renewal was sent.
 *  2. Another's lease has run out when it did not change for its duration by our own clock: clocks are never compared.
 *  3. Every write carries the version it was decided on, so that two candidates cannot both succeed.
 */
export async function elect(options: ElectionOptions, signal: AbortSignal): Promise<void> {
  const election = new Election(options, signal);
  while (!signal.aborted) {
    if (await election.acquire()) await election.lead();
    else await election.stand();
  }
  await election.release();
}

class Election {
  readonly #options: ElectionOptions;
  readonly #signal: AbortSignal;
  /** The lease as last seen, and when its holder was last seen to renew it. Null: there is none. */
  #lease: Lease | null = null;
  #seenAt = 0;
  #holder: string | undefined;
  /** When the lease must have been renewed. */
  #deadline = Number.NEGATIVE_INFINITY;
  /** When we last tried to write it. */
  #sentAt = Number.NEGATIVE_INFINITY;
  #leading = false;
  /** We have once tried to take the lease. Broken off, such a write may yet have arrived. */
  #inDoubt = false;
  #watchable = true;

  constructor(options: ElectionOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
  }

  /** True: the lease is ours. */
  async acquire(): Promise<boolean> {
    const acquired = await this.#attempt(async (signal) => {
      this.#see((await this.#read(signal)) ?? null);
      if (!this.#isFree()) return false;
      this.#inDoubt = true;
      await this.#write(signal);
      this.#leading = true;
      return true;
    });
    // It was free and another was faster: watch the one who holds it now.
    if (!acquired && !this.#signal.aborted && this.#isFree()) await this.#lookAgain();
    return acquired;
  }

  /** Leads until the lease cannot be renewed, or is found in other hands, or the election is called off. */
  async lead(): Promise<void> {
    const { clock, onLeading, onLost } = this.#options;
    if (this.#signal.aborted) return;
    onLeading({ held: () => this.#leading && clock.now() < this.#deadline });
    while (!this.#signal.aborted && (await this.#renewInTime()));
    if (this.#signal.aborted && clock.now() < this.#deadline) return;
    this.#leading = false;
    onLost();
  }

  /** Waits until it makes sense to try again: the lease is free, has run out, or a retry period is over. */
  async stand(): Promise<void> {
    const { clock } = this.#options;
    if (!this.#watchable || this.#isFree()) return pause(clock, RETRY_MS, this.#signal);
    const stop = new AbortController();
    const halt = () => stop.abort();
    this.#signal.addEventListener('abort', halt, { once: true });
    const expiry = this.#expiry(halt);
    try {
      await this.#follow(expiry, stop.signal);
    } finally {
      expiry.cancel();
      this.#signal.removeEventListener('abort', halt);
    }
  }

  /** Gives the lease back if it is ours: the next one need not wait until it runs out. */
  async release(): Promise<void> {
    if (!this.#leading && !this.#inDoubt) return;
    this.#leading = false;
    const signal = AbortSignal.timeout(RETRY_MS);
    try {
      if (!this.#isOurs()) this.#see((await this.#read(signal)) ?? null);
      await this.#giveBack(signal);
    } catch (error) {
      // It runs out by itself.
      if (!signal.aborted) this.#report(error);
    }
  }

  async #giveBack(signal: AbortSignal): Promise<void> {
    for (;;) {
      const lease = this.#lease;
      const now = microTime(this.#options.clock.wall());
      const spec = { ...lease?.spec, holderIdentity: '', leaseDurationSeconds: 1, renewTime: now, acquireTime: now };
      try {
        if (lease && this.#isOurs()) this.#see(await this.#replace({ ...lease, spec }, signal));
        return;
      } catch (error) {
        // A renewal that was broken off may yet have arrived.
        if (!KubeError.is(error, 'Conflict')) throw error;
        this.#see((await this.#read(signal)) ?? null);
      }
    }
  }

  /** Watches the lease until it is worth a try. */
  async #follow(expiry: Expiry, signal: AbortSignal): Promise<void> {
    const { client, namespace, name, clock } = this.#options;
    const scope = { namespace, fieldSelector: `metadata.name=${name}` };
    const start = clock.now();
    try {
      for await (const event of client.watch(LEASES, scope, this.#lease?.metadata.resourceVersion ?? '', { signal })) {
        if (event.type === 'BOOKMARK') continue;
        this.#see(event.type === 'DELETED' ? null : (event.object as Lease));
        if (this.#isFree()) return;
        expiry.restart();
      }
    } catch (error) {
      if (!signal.aborted) this.#watchFailed(error);
    }
    // However fast watches end, the lease is looked at no more often than without one.
    await pause(clock, start + RETRY_MS - clock.now(), signal);
  }

  #watchFailed(error: unknown): void {
    if (KubeError.is(error) && (error.status === 403 || error.status === 405)) this.#watchable = false;
    else this.#report(error);
  }

  #expiry(expired: () => void): Expiry {
    const { clock } = this.#options;
    const set = () => clock.after(Math.max(0, this.#expiresAt() - clock.now()), expired);
    let cancel = set();
    return {
      cancel: () => cancel(),
      restart() {
        cancel();
        cancel = set();
      },
    };
  }

  /** Renews once a retry period, after a try that hung at once; false when the deadline passed or another took over. */
  async #renewInTime(): Promise<boolean> {
    const { clock } = this.#options;
    await pause(clock, Math.min(this.#sentAt + RETRY_MS, this.#deadline) - clock.now(), this.#signal);
    if (this.#signal.aborted) return true;
    if (clock.now() >= this.#deadline) return false;
    const renewed = await this.#attempt(async (signal) => {
      await this.#write(signal);
      return true;
    });
    if (!renewed && !this.#signal.aborted && clock.now() < this.#deadline) await this.#lookAgain();
    return clock.now() < this.#deadline && this.#isOurs();
  }

  /** After a write that failed: was it a conflict, and with whom? */
  async #lookAgain(): Promise<void> {
    await this.#attempt(async (signal) => {
      this.#see((await this.#read(signal)) ?? null);
      return true;
    });
  }

  /** One exchange, while leading within the deadline; false when it failed. */
  async #attempt(exchange: (signal: AbortSignal) => Promise<boolean>): Promise<boolean> {
    const { clock } = this.#options;
    const stop = new AbortController();
    const halt = () => stop.abort(new Error('the lease took too long to answer'));
    const leftMs = this.#leading ? this.#deadline - clock.now() : ATTEMPT_MS;
    const cancel = clock.after(Math.min(ATTEMPT_MS, leftMs), halt);
    this.#signal.addEventListener('abort', halt, { once: true });
    try {
      return await exchange(stop.signal);
    } catch (error) {
      if (!stop.signal.aborted) this.#report(error);
      return false;
    } finally {
      cancel();
      this.#signal.removeEventListener('abort', halt);
    }
  }

  async #read(signal: AbortSignal): Promise<Lease | undefined> {
    try {
      return await this.#options.client.get<Lease>(LEASES, this.#options, { signal });
    } catch (error) {
      if (KubeError.is(error, 'NotFound')) return undefined;
      // Who may not look does not know who leads.
      if (KubeError.is(error, 'Forbidden')) this.#holder = undefined;
      throw error;
    }
  }

  /** Writes ourselves into the lease, on top of what was seen; the deadline moves only when that succeeded. */
  async #write(signal: AbortSignal): Promise<void> {
    const { client, clock, namespace, name, identity } = this.#options;
    this.#sentAt = clock.now();
    const now = microTime(clock.wall());
    const old = this.#lease;
    const ours = old?.spec?.holderIdentity === identity;
    const spec = {
      ...old?.spec,
      holderIdentity: identity,
      leaseDurationSeconds: LEASE_SECONDS,
      renewTime: now,
      acquireTime: ours ? (old?.spec?.acquireTime ?? now) : now,
      leaseTransitions: (old?.spec?.leaseTransitions ?? 0) + (old && !ours ? 1 : 0),
    };
    const body = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { namespace, name } };
    this.#see(
      old
        ? await this.#replace({ ...old, spec }, signal)
        : await client.create<Lease>(LEASES, namespace, { ...body, spec }, { signal }),
    );
    this.#deadline = this.#sentAt + RENEW_DEADLINE_MS;
  }

  #replace(lease: Lease, signal: AbortSignal): Promise<Lease> {
    const { client, namespace, name } = this.#options;
    return client.replace<Lease>(LEASES, { namespace, name }, lease, { signal });
  }

  #see(lease: Lease | null): void {
    const { holderIdentity, renewTime } = this.#lease?.spec ?? {};
    if (lease?.spec?.holderIdentity !== holderIdentity || lease?.spec?.renewTime !== renewTime) {
      this.#seenAt = this.#options.clock.now();
    }
    this.#lease = lease;
    const holder = lease?.spec?.holderIdentity ?? '';
    if (holder === this.#holder) return;
    this.#holder = holder;
    this.#options.onHolder?.(holder);
  }

  #isOurs(): boolean {
    return this.#lease?.spec?.holderIdentity === this.#options.identity;
  }

  /** Nobody holds it, or we do, or its holder has been silent for too long. */
  #isFree(): boolean {
    return !this.#lease?.spec?.holderIdentity || this.#isOurs() || this.#options.clock.now() >= this.#expiresAt();
  }

  #expiresAt(): number {
    return this.#seenAt + (this.#lease?.spec?.leaseDurationSeconds ?? LEASE_SECONDS) * 1000;
  }

  #report(error: unknown): void {
    if (!KubeError.is(error)) throw error;
    this.#options.onError?.(error);
  }
}

interface Expiry {
  cancel(): void;
  /** The lease changed: its time begins anew. */
  restart(): void;
}
