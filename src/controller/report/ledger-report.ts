import type { KubeError } from '../../kube/kube-error.ts';
import { isTransient } from '../../kube/retry-transient.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Log } from '../../telemetry/log.ts';
import type { ControllerMetrics } from '../../telemetry/metric-tables/controller.ts';

const CHECKPOINT = {
  'first-start': 'no ledger to go by: everything that runs counts as current, nothing is rolled for the past',
  'too-old': 'the ledger is older than --catch-up-max: everything that runs counts as current',
  'other-key': 'the ledger was written with another key or in the other mode: everything that runs counts as current',
  found: 'ledger found: what changed in the meantime is caught up',
} as const;

// A connection that breaks, a server that is busy: the next try, a second later, usually succeeds.
const LASTING_MS = 60_000;

export interface SystemReportDeps {
  readonly log: Log;
  readonly metrics: ControllerMetrics;
  readonly clock: Clock;
  /** A standby knows everything, and says nothing of what others do: it keeps no ledger and catches nothing up. */
  readonly mayTell: () => boolean;
}

/** What there is to say about the ledger: what it told us, and whether it is kept. */
export class LedgerReport {
  readonly #deps: SystemReportDeps;
  #failingSince: number | undefined;
  /** The trouble that was told, until it is over. */
  readonly #told = new Set<'refused' | 'lasting' | 'unreadable'>();

  constructor(deps: SystemReportDeps) {
    this.#deps = deps;
  }

  checkpoint(what: keyof typeof CHECKPOINT): void {
    if (this.#deps.mayTell()) this.#deps.log.info(CHECKPOINT[what]);
  }

  ledgerUnreadable(error: KubeError): void {
    this.#tell('unreadable', 'the ledger cannot be read, so changes from before this start are not seen', error);
  }

  ledgerWritten(): void {
    this.#deps.metrics.increment('attune_ledger_writes_total', { result: 'success' });
  }

  ledgerFailed(error: KubeError): void {
    const { metrics, clock } = this.#deps;
    metrics.increment('attune_ledger_writes_total', { result: 'error' });
    if (!isTransient(error)) {
      this.#tell('refused', 'the ledger cannot be kept, so changes during a downtime would be lost', error);
      return;
    }
    this.#failingSince ??= clock.now();
    const lastedMs = clock.now() - this.#failingSince;
    if (lastedMs < LASTING_MS) return;
    const since = `${Math.round(lastedMs / 1000)} s`;
    this.#tell('lasting', `the ledger could not be written for ${since}, and is tried again and again`, error);
  }

  /** All that there was to write is written. */
  ledgerKept(): void {
    this.#failingSince = undefined;
    const wasTold = [this.#told.delete('refused'), this.#told.delete('lasting')].includes(true);
    if (wasTold) this.#deps.log.info('the ledger is kept again');
  }

  #tell(what: 'refused' | 'lasting' | 'unreadable', message: string, error: KubeError): void {
    if (this.#told.has(what) || !this.#deps.mayTell()) return;
    this.#told.add(what);
    this.#deps.log.warn(`${message}: ${error.message}`, {
      cure: ownCure(error, 'get, create and update on configmaps'),
    });
  }
}

/** What would help against a refusal in the own namespace. */
export function ownCure({ status }: KubeError, rights: string): string | undefined {
  if (status === 403) return `grant ${rights} in the own namespace`;
  return status === 404 ? 'set POD_NAMESPACE to a namespace that exists' : undefined;
}
