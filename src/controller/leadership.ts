import type { KubeClient } from '../kube/client.ts';
import type { KubeError } from '../kube/kube-error.ts';
import { elect } from '../kube/lease/election.ts';
import type { Clock } from '../runtime/clock.ts';
import type { SystemReport } from './report/system-report.ts';

/** Who may write. */
export interface Leadership {
  mayWrite(): boolean;
  /** False: this process has led, does not stand for election again, and has to be replaced. */
  isAlive(): boolean;
  /** Called with the reason why we cannot be elected, and with undefined once we can: we lead, or know who does. */
  onLeaseRefused(listener: (error: KubeError | undefined) => void): void;
  /**
   * Calls `lead` for each term, with a signal that ends it; a term begins when `lead` has ended for the one before.
   * Resolves when all is over.
   */
  run(signal: AbortSignal, lead: (term: AbortSignal) => Promise<void>): Promise<void>;
}

/** The only replica. */
export function aloneLeadership(): Leadership {
  return { mayWrite: () => true, isAlive: () => true, onLeaseRefused() {}, run: (signal, lead) => lead(signal) };
}

export interface ElectedDeps {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly namespace: string;
  readonly identity: string;
  /** As upstream: who has lost the lead never leads again, and says so by `isAlive`. */
  readonly leadsOnce: boolean;
  readonly report: Pick<SystemReport, 'leading' | 'holder' | 'electionTrouble'>;
}

// A server that has just started refuses what it allows a moment later.
const MAX_REFUSALS = 3;

/** Whether the server lets us take part in the election. */
class LeaseAccess {
  listener: (error: KubeError | undefined) => void = () => {};
  #refusals = 0;
  #isKnown = false;

  refused(error: KubeError): void {
    if (error.status !== 403 && error.status !== 404) return;
    this.#refusals += 1;
    if (this.#refusals >= MAX_REFUSALS) this.listener(error);
  }

  granted(): void {
    if (this.#refusals >= MAX_REFUSALS || !this.#isKnown) this.listener(undefined);
    this.#isKnown = true;
    this.#refusals = 0;
  }
}

const LEASE_NAME = 'stakater-reloader-lock';

/** One of several replicas. Each follows the cluster all the time, so that a new leader only has to begin to write. */
export function electedLeadership(deps: ElectedDeps): Leadership {
  const { report, leadsOnce } = deps;
  let held = (): boolean => false;
  let hasLost = false;
  const access = new LeaseAccess();
  return {
    mayWrite: () => held(),
    isAlive: () => !(leadsOnce && hasLost),
    onLeaseRefused(listener) {
      access.listener = listener;
    },
    async run(signal, lead) {
      const stop = new AbortController();
      const over = Promise.withResolvers<void>();
      let term = new AbortController();
      let leading = Promise.resolve();
      /** Writes of the term before are finished first: none of them may pass for one of the new term. */
      const begin = async (isHeld: () => boolean, end: AbortSignal, before: Promise<void>): Promise<void> => {
        await before;
        if (end.aborted || signal.aborted) return;
        held = isHeld;
        await lead(end);
      };
      const election = elect(
        {
          ...deps,
          name: LEASE_NAME,
          onLeading(lease) {
            report.leading(true);
            access.granted();
            term = new AbortController();
            leading = begin(() => lease.held(), term.signal, leading);
            leading.catch(over.reject);
          },
          onLost() {
            held = () => false;
            hasLost = true;
            report.leading(false);
            term.abort();
            if (leadsOnce) stop.abort();
          },
          onHolder(holder, leaseMs) {
            report.holder(holder, leaseMs);
            if (holder !== '') access.granted();
          },
          onError(error) {
            report.electionTrouble(error);
            if (!held()) access.refused(error);
          },
        },
        stop.signal,
      );
      if (signal.aborted) over.resolve();
      signal.addEventListener('abort', () => over.resolve(), { once: true });
      try {
        await over.promise;
        term.abort();
        await leading;
      } finally {
        // A process that cannot work must not keep the lead.
        term.abort();
        stop.abort();
        await election;
        held = () => false;
      }
    },
  };
}
