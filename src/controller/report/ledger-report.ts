import { refOfKey, type WorkloadKey, type WorkloadRef } from '../../domain/workload/workload.ts';
import type { KubeError } from '../../kube/kube-error.ts';
import { isTransient } from '../../kube/retry-transient.ts';
import { Reminders } from './reminders.ts';
import { nameOf } from './render/outcome-words.ts';
import { isRefusedAtEnd, type SystemReportDeps } from './system-report.ts';

const CHECKPOINT = {
  'first-start': 'no ledger to go by: everything that runs counts as current, nothing is rolled for the past',
  'other-format':
    'the ledger was written in another format, by an earlier version of Attune: everything that runs counts as current',
  'too-old': 'the ledger is older than --catch-up-max: everything that runs counts as current',
  'other-key':
    'the ledger was written with another key, in the other mode or by an earlier version: everything that runs counts as current',
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
  /** Shards that were refused when that was last told. */
  #refused: ReadonlySet<string> = new Set();

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

  /** Some shards cannot be believed, and others are. */
  shardsLost(shards: readonly string[]): void {
    if (!this.#deps.mayTell()) return;
    const effect = 'Attune may miss changes from before this start for the workloads in it';
    this.#deps.log.warn(`ledger incomplete: ${shards.join(', ')} missing, damaged or unreadable. ${effect}`);
  }

  ledgerWrite(result: 'success' | 'error'): void {
    this.#deps.metrics.increment('attune_ledger_writes_total', { result });
  }

  /** Which shards could not be written when that was last tried, and why. */
  ledgerState(failing: ReadonlyMap<string, KubeError>): void {
    const { clock, log } = this.#deps;
    const wasTold = this.#refused.size > 0 || this.#reported.has('lasting');
    this.#tellRefused([...failing].filter(([, error]) => !isTransient(error)));
    const transient = [...failing.values()].find(isTransient);
    if (transient) this.#failing(transient, clock.now());
    else this.#failingSince = undefined;
    if (failing.size > 0) return;
    this.#reported.delete('lasting');
    if (wasTold) log.info('the ledger is kept again');
  }

  #tellRefused(refused: readonly (readonly [shard: string, KubeError])[]): void {
    if (!this.#deps.mayTell()) return;
    const news = refused.filter(([shard]) => !this.#refused.has(shard));
    this.#refused = new Set(refused.map(([shard]) => shard));
    const [, error] = news[0] ?? [];
    if (!error) return;
    const shards = news.map(([shard]) => shard).join(', ');
    const effect = 'Attune may miss changes during a downtime for the workloads in it';
    this.#reported.delete('refused');
    this.#tell('refused', `ledger write refused: ${shards}. ${effect}`, error);
  }

  #failing(error: KubeError, now: number): void {
    this.#failingSince ??= now;
    const lastedMs = now - this.#failingSince;
    if (lastedMs < LASTING_MS) return;
    const since = `${Math.round(lastedMs / 1000)} s`;
    this.#tell('lasting', `the ledger could not be written for ${since}, and is tried again and again`, error);
  }

  /** No key can be kept; undefined: our own namespace is not known. */
  keyless(error: KubeError | undefined): void {
    const message = 'nothing is remembered about Secrets over a restart, and config hashes go by version';
    this.#notKept(message, error, 'get and create on secrets');
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

  /** Told once per start, however many there are. */
  otherRecords(workloads: number): void {
    if (workloads === 0) return;
    const message = 'records of another version are not read: what these workloads run counts as current';
    this.#deps.log.info(message, { workloads });
  }

  recordNotRewritten(key: WorkloadKey, error: KubeError): void {
    const ref = refOfKey(key);
    const message = `the record of ${nameOf({ ref })} still has fingerprints of an earlier version or key: ${error.message}`;
    this.#deps.log.warn(message, { ...ref });
  }

  unsafeJobs(error: KubeError | undefined): void {
    const message = 'Jobs are replaced without a safety net: a crash between delete and create loses one';
    this.#notKept(message, error, 'get, create and patch on secrets');
  }

  /** `error`: the API server refused the manifest; undefined: there is no room for it. */
  unsafeJob(ref: WorkloadRef, error: KubeError | undefined): void {
    const job = nameOf({ ref });
    const why = error?.message ?? 'its manifest does not fit into the Secret attune-replacing';
    const message = `${job} is replaced without a safety net: ${why}. A crash between delete and create loses it`;
    if (this.#reminders.isDue(message)) this.#deps.log.warn(message, { ...ref });
  }

  /** Something cannot be kept in the own namespace. */
  #notKept(message: string, error: KubeError | undefined, rights: string): void {
    if (!this.#reminders.isDue(message)) return;
    const cure = error ? ownCure(error, rights) : 'set POD_NAMESPACE to the namespace that this program runs in';
    this.#deps.log.warn(`${message}: ${error?.message ?? 'its own namespace is not known'}`, { cure });
  }

  #tell(what: 'refused' | 'lasting' | 'unreadable', message: string, error: KubeError): void {
    if (this.#reported.has(what) || !this.#deps.mayTell()) return;
    if (isRefusedAtEnd(error, this.#deps)) {
      this.#deps.log.debug(`${message}: ${error.message}`);
      return;
    }
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
