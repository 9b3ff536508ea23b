import { refOfKey, type WorkloadKey } from '../../domain/workload/workload.ts';
import type { KubeError } from '../../kube/kube-error.ts';
import { isTransient } from '../../kube/retry-transient.ts';
import { Reminders } from './reminders.ts';
import { nameOf } from './render/outcome-words.ts';
import type { SystemReportDeps } from './system-report.ts';

const CHECKPOINT = {
  'first-start': 'no ledger to go by: everything that runs counts as current, nothing is rolled for the past',
  'too-old': 'the ledger is older than --catch-up-max: everything that runs counts as current',
  'other-key': 'the ledger was written with another key or in the other mode: everything that runs counts as current',
  found: 'ledger found: what changed in the meantime is caught up',
} as const;

// A connection broke, or the server is busy: usually the next try succeeds, a second later.
const LASTING_MS = 60_000;

/** What is kept over a restart (the ledger, its key, the journal of replaced Jobs), and what could not be kept. */
export class LedgerReport {
  readonly #deps: SystemReportDeps;
  #failingSince: number | undefined;
  readonly #reminders: Reminders;
  /** Trouble that was reported and is not over. */
  readonly #reported = new Set<'refused' | 'lasting' | 'unreadable'>();

  constructor(deps: SystemReportDeps) {
    this.#deps = deps;
    this.#reminders = new Reminders(deps.clock);
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
    const wasReported = [this.#reported.delete('refused'), this.#reported.delete('lasting')].includes(true);
    if (wasReported) this.#deps.log.info('the ledger is kept again');
  }

  /** No key can be kept; undefined: our own namespace is not known. */
  keyless(error: KubeError | undefined): void {
    this.#notKept('nothing is remembered about Secrets over a restart', error, 'get and create on secrets');
  }

  /** A key that could be guessed was replaced, or with an error, could not be. */
  weakKey(bytes: number, error?: KubeError): void {
    const { log } = this.#deps;
    const found = `the key in Secret attune-ledger-key has ${bytes} bytes, fewer than 32`;
    if (!error) {
      log.warn(`${found}: replaced. What was stored with it is rewritten, and nothing rolls for it`);
      return;
    }
    log.warn(`${found}, and cannot be replaced: nothing is remembered about Secrets over a restart`, {
      error: error.message,
      cure: 'grant update on secrets, resourceNames attune-ledger-key, in the own namespace',
    });
  }

  recordNotRewritten(key: WorkloadKey, error: KubeError): void {
    const ref = refOfKey(key);
    const message = `the record of ${nameOf({ ref })} still has fingerprints of the former key: ${error.message}`;
    this.#deps.log.warn(message, { ...ref });
  }

  unsafeJobs(error: KubeError | undefined): void {
    const message = 'Jobs are replaced without a safety net: a crash between delete and create loses one';
    this.#notKept(message, error, 'get, create and patch on secrets');
  }

  /** Something cannot be kept in the own namespace. */
  #notKept(message: string, error: KubeError | undefined, rights: string): void {
    if (!this.#reminders.isDue(message)) return;
    const cure = error ? ownCure(error, rights) : 'set POD_NAMESPACE to the namespace that this program runs in';
    this.#deps.log.warn(`${message}: ${error?.message ?? 'its own namespace is not known'}`, { cure });
  }

  #tell(what: 'refused' | 'lasting' | 'unreadable', message: string, error: KubeError): void {
    if (this.#reported.has(what) || !this.#deps.mayTell()) return;
    this.#reported.add(what);
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
