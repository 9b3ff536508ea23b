import type { KubeObject } from '../../api/objects.ts';
import { LEASES } from '../../api/resources.ts';
import { pause } from '../../runtime/backoff.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { KubeClient } from '../client.ts';
import { KubeError } from '../kube-error.ts';

/** As much of a Lease as an election reads and writes. */
interface Lease extends KubeObject {
  readonly spec?: {
    readonly holderIdentity?: string | null;
    readonly leaseDurationSeconds?: number | null;
    readonly leaseTransitions?: number | null;
    readonly acquireTime?: string | null;
    readonly renewTime?: string | null;
  };
}

/** The leader's proof that it leads. */
export interface HeldLease {
  /** False as soon as the renew deadline has passed, even before `onLost` is called. */
  held(): boolean;
}

export interface ElectionOptions {
  readonly client: Pick<KubeClient, 'get' | 'create' | 'replace' | 'watch'>;
  readonly namespace: string;
  readonly name: string;
  /** Unique for each process, also after a restart. */
  readonly identity: string;
  readonly clock: Clock;
  readonly onLeading: (lease: HeldLease) => void;
  /** The lease is lost: nothing may be written any more. Not called when it is released. */
  readonly onLost: () => void;
  /**
   * Called with the holder, perhaps ourselves, or '' when there is none, and after what time without a renewal its lease ends:
   * whenever one of the two has changed.
   */
  readonly onHolder?: ((identity: string, leaseMs: number) => void) | undefined;
  /** Reading or writing the lease failed; it is retried. */
  readonly onError?: ((error: KubeError) => void) | undefined;
}

// client-go's defaults, so that upstream's leaders and ours can take over from each other.
const LEASE_SECONDS = 15;
// The field is an int32: the server refuses what is beyond it, and then nobody could take the lease any more.
const MAX_TRANSITIONS = 2 ** 31 - 1;
const RENEW_DEADLINE_MS = 10_000;
const RETRY_MS = 2000;
// If a connection hangs, there must be time for a second attempt.
const ATTEMPT_MS = RENEW_DEADLINE_MS / 2;

/**
 * Takes part in the election until aborted, and then releases the lease.
 *
 * Invariants
 *  1. Nobody leads beyond the renew deadline, counted from when the last successful renewal was sent.
 *  2. Another's lease has expired when it did not change for its duration by our own clock: clocks are not compared.
 *  3. Every write carries the version that was read, so that only one of two candidates succeeds.
 */
export async function elect(options: ElectionOptions, signal: AbortSignal): Promise<void> {
  const election = new Election(options, signal);
  while (!signal.aborted) {
    if (await election.acquire()) await election.lead();
    else await election.standBy();
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
  #toldMs = 0;
  /** When the lease must have been renewed. */
  #deadline = Number.NEGATIVE_INFINITY;
  /** When we last tried to write it. */
  #sentAt = Number.NEGATIVE_INFINITY;
  #leading = false;
  /** We have tried to take the lease. An aborted write may have arrived all the same. */
  #mayHold = false;
  #watchable = true;

  constructor(options: ElectionOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
  }

  /** Tries to take the lease; true if it is ours. */
  async acquire(): Promise<boolean> {
    await this.#attempt(async (signal) => {
      await this.#read(signal);
      if (!this.#isFree()) return;
      this.#mayHold = true;
      await this.#write(signal);
      this.#leading = true;
    });
    // It was free and another candidate was faster: read who holds it now.
    if (!this.#leading && !this.#signal.aborted && this.#isFree()) await this.#attempt((signal) => this.#read(signal));
    return this.#leading;
  }

  /** Renews the lease until that fails, another holds it, or the election is aborted. */
  async lead(): Promise<void> {
    const { clock, onLeading, onLost } = this.#options;
    if (this.#signal.aborted) return;
    onLeading({ held: () => this.#leading && clock.now() < this.#deadline });
    while (!this.#signal.aborted && (await this.#renewInTime()));
    if (this.#signal.aborted && clock.now() < this.#deadline) return;
    this.#leading = false;
    onLost();
  }

  /** Waits until the lease is free or has expired, or a retry period is over. */
  async standBy(): Promise<void> {
    const { clock } = this.#options;
    if (!this.#watchable || this.#isFree()) return pause(clock, RETRY_MS, this.#signal);
    const stop = new AbortController();
    const halt = () => stop.abort();
    this.#signal.addEventListener('abort', halt, { once: true });
    const startTimer = () => clock.after(Math.max(0, this.#expiresAt() - clock.now()), halt);
    let cancel = startTimer();
    const onRenewed = () => {
      cancel();
      cancel = startTimer();
    };
    try {
      await this.#watch(onRenewed, stop.signal);
    } finally {
      cancel();
      this.#signal.removeEventListener('abort', halt);
    }
  }

  /** Releases the lease if it is ours, so that the next leader need not wait until it expires. */
  async release(): Promise<void> {
    if (!this.#leading && !this.#mayHold) return;
    this.#leading = false;
    const signal = AbortSignal.timeout(RETRY_MS);
    try {
      if (!this.#isOurs()) await this.#read(signal);
      await this.#clearHolder(signal);
    } catch (error) {
      // It expires by itself.
      if (!signal.aborted) this.#report(error);
    }
  }

  async #clearHolder(signal: AbortSignal): Promise<void> {
    for (;;) {
      const lease = this.#lease;
      const now = microTime(this.#options.clock.wall());
      const spec = { ...lease?.spec, holderIdentity: '', leaseDurationSeconds: 1, renewTime: now, acquireTime: now };
      try {
        if (lease && this.#isOurs()) this.#observe(await this.#replace({ ...lease, spec }, signal));
        return;
      } catch (error) {
        // An aborted renewal may have arrived all the same.
        if (!KubeError.is(error, 'Conflict')) throw error;
        await this.#read(signal);
      }
    }
  }

  /** Watches the lease until it is free. */
  async #watch(onRenewed: () => void, signal: AbortSignal): Promise<void> {
    const { client, namespace, name, clock } = this.#options;
    const scope = { namespace, fieldSelector: `metadata.name=${name}` };
    const start = clock.now();
    try {
      for await (const event of client.watch(LEASES, scope, this.#lease?.metadata.resourceVersion ?? '', { signal })) {
        if (event.type === 'BOOKMARK') continue;
        this.#observe(event.type === 'DELETED' ? null : (event.object as Lease));
        if (this.#isFree()) return;
        onRenewed();
      }
    } catch (error) {
      if (!signal.aborted) this.#watchFailed(error);
    }
    // However fast watches end, the lease is not read more often than once a retry period.
    await pause(clock, start + RETRY_MS - clock.now(), signal);
  }

  #watchFailed(error: unknown): void {
    if (KubeError.is(error) && (error.status === 403 || error.status === 405)) this.#watchable = false;
    else this.#report(error);
  }

  /** Waits for the next renewal and sends it; false when the deadline has passed or another holds the lease. */
  async #renewInTime(): Promise<boolean> {
    const { clock } = this.#options;
    await pause(clock, Math.min(this.#sentAt + RETRY_MS, this.#deadline) - clock.now(), this.#signal);
    if (this.#signal.aborted) return true;
    if (clock.now() >= this.#deadline) return false;
    const until = this.#deadline;
    const renewed = await this.#attempt((signal) => this.#write(signal));
    // Too late, although it was sent in time: nobody could write meanwhile, and only a new term takes up what was put aside.
    if (clock.now() >= until) return false;
    if (!renewed && !this.#signal.aborted && clock.now() < this.#deadline) {
      await this.#attempt((signal) => this.#read(signal));
    }
    return clock.now() < this.#deadline && this.#isOurs();
  }

  /** Runs one attempt with a time limit, which for a leader ends at the deadline; false when it failed. */
  async #attempt(work: (signal: AbortSignal) => Promise<void>): Promise<boolean> {
    const { clock } = this.#options;
    const stop = new AbortController();
    const halt = () => stop.abort(new Error('the lease took too long to answer'));
    const leftMs = this.#leading ? this.#deadline - clock.now() : ATTEMPT_MS;
    const cancel = clock.after(Math.min(ATTEMPT_MS, leftMs), halt);
    this.#signal.addEventListener('abort', halt, { once: true });
    try {
      await work(stop.signal);
      return true;
    } catch (error) {
      if (!stop.signal.aborted) this.#report(error);
      return false;
    } finally {
      cancel();
      this.#signal.removeEventListener('abort', halt);
    }
  }

  async #read(signal: AbortSignal): Promise<void> {
    try {
      this.#observe(await this.#options.client.get<Lease>(LEASES, this.#options, { signal }));
    } catch (error) {
      // Without the right to read it we no longer know who leads.
      if (KubeError.is(error, 'Forbidden')) this.#holder = undefined;
      if (!KubeError.is(error, 'NotFound')) throw error;
      this.#observe(null);
    }
  }

  /** Writes us as the holder, over the version that was read; only success moves the deadline. */
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
      leaseTransitions: Math.min((old?.spec?.leaseTransitions ?? 0) + (old && !ours ? 1 : 0), MAX_TRANSITIONS),
    };
    const body = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { namespace, name } };
    this.#observe(
      old
        ? await this.#replace({ ...old, spec }, signal)
        : await client.create<Lease>(LEASES, namespace, { ...body, spec }, { signal }),
    );
    this.#deadline = this.#sentAt + RENEW_DEADLINE_MS;
  }

  #replace(lease: Lease, signal: AbortSignal): Promise<Lease> {
    return this.#options.client.replace<Lease>(LEASES, this.#options, lease, { signal });
  }

  #observe(lease: Lease | null): void {
    const { holderIdentity, renewTime } = this.#lease?.spec ?? {};
    if (lease?.spec?.holderIdentity !== holderIdentity || lease?.spec?.renewTime !== renewTime) {
      this.#seenAt = this.#options.clock.now();
    }
    this.#lease = lease;
    const holder = lease?.spec?.holderIdentity ?? '';
    const leaseMs = this.#leaseMs();
    if (holder === this.#holder && (leaseMs === this.#toldMs || holder === '')) return;
    this.#holder = holder;
    this.#toldMs = leaseMs;
    this.#options.onHolder?.(holder, leaseMs);
  }

  #isOurs(): boolean {
    return this.#lease?.spec?.holderIdentity === this.#options.identity;
  }

  /** Nobody holds it, or we do, or it has expired. */
  #isFree(): boolean {
    return !this.#lease?.spec?.holderIdentity || this.#isOurs() || this.#options.clock.now() >= this.#expiresAt();
  }

  #expiresAt(): number {
    return this.#seenAt + this.#leaseMs();
  }

  /** What the lease says of itself counts, however long: its holder may be alive all that time. */
  #leaseMs(): number {
    return (this.#lease?.spec?.leaseDurationSeconds ?? LEASE_SECONDS) * 1000;
  }

  #report(error: unknown): void {
    if (!KubeError.is(error)) throw error;
    this.#options.onError?.(error);
  }
}

/** MicroTime: six digits, of which a clock of milliseconds knows three. */
function microTime(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z');
}
