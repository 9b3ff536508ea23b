import type { Resource } from '../api/resources.ts';
import type { SourceRef } from '../api/sources.ts';
import { UNKNOWN } from '../domain/ledger.ts';
import type { Workload, WorkloadRef } from '../domain/workload.ts';
import type { Scope } from '../kube/client.ts';
import type { KubeError } from '../kube/kube-error.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Turn } from './source-book.ts';

const CHECKPOINT = {
  'first-start': 'no ledger from before: everything that runs counts as current, nothing is rolled for the past',
  'too-old': 'the ledger is older than --catch-up-max: everything that runs counts as current',
  'other-key': 'the ledger was written with another key or in the other mode: everything that runs counts as current',
  found: 'ledger found: what changed in the meantime is caught up',
} as const;

/** Upstream's words. */
const EVENT_TYPE = { add: 'add', change: 'update', remove: 'delete' } as const;

/** What there is to say about the program itself: what it may not see, what it cannot keep, who leads. */
export class SystemReport {
  readonly #log: Log;
  readonly #metrics: Metrics;
  readonly #said = new Set<string>();

  constructor(log: Log, metrics: Metrics) {
    this.#log = log;
    this.#metrics = metrics;
  }

  turned(turn: Turn): void {
    if (turn.before === turn.after && turn.after !== UNKNOWN) {
      this.#metrics.increment('reloader_skipped_total', { reason: 'no_data_change' });
    }
  }

  queued(): void {
    this.#metrics.increment('reloader_workqueue_adds_total');
  }

  /** A watch event, before and after the filters. */
  received(type: 'add' | 'change' | 'remove', { plural }: Resource, inScope: boolean): void {
    const labels = { event_type: EVENT_TYPE[type], resource_type: plural };
    this.#metrics.increment('reloader_events_received_total', labels);
    this.#metrics.increment('reloader_events_processed_total', { ...labels, result: inScope ? 'success' : 'dropped' });
    if (!inScope) this.#metrics.increment('reloader_skipped_total', { reason: 'ignored_or_not_selected' });
  }

  checkpoint(what: keyof typeof CHECKPOINT): void {
    this.#log.info(CHECKPOINT[what]);
  }

  ledgerWritten(): void {
    this.#metrics.increment('attune_ledger_writes_total', { result: 'success' });
  }

  ledgerFailed(error: KubeError): void {
    this.#metrics.increment('attune_ledger_writes_total', { result: 'error' });
    this.#once('the ledger cannot be kept, so changes during a downtime would be lost', error, 'configmaps');
  }

  keyless(error: KubeError | undefined): void {
    this.#once('nothing is remembered about Secrets over a restart', error, 'secrets');
  }

  weakKey(bytes: number, error?: KubeError): void {
    const found = `the key in Secret attune-ledger-key has ${bytes} bytes, fewer than 32`;
    if (!error) {
      this.#log.warn(`${found}: replaced. What was stored with it is rewritten, and nothing rolls for it`);
      return;
    }
    this.#log.warn(`${found}, and cannot be replaced: nothing is remembered about Secrets over a restart`, {
      error: error.message,
      cure: 'grant update on secrets, resourceNames attune-ledger-key, in the own namespace',
    });
  }

  recordNotRewritten(key: string, error: KubeError): void {
    this.#log.warn(`the record of ${key} still has fingerprints of the former key: ${error.message}`);
  }

  unsafeJobs(error: KubeError | undefined): void {
    this.#once('Jobs are replaced without a safety net: a crash between delete and create loses one', error, 'secrets');
  }

  stuckJob({ namespace, name }: WorkloadRef, error: KubeError): void {
    this.#log.error(`Job ${namespace}/${name} is being replaced, and there is no new one yet: ${error.message}`, {
      again: 'soon',
    });
  }

  /** Upstream's words: scripts wait for them. */
  following({ plural }: Resource, scopes: readonly Scope[]): void {
    this.#log.info(`created controller for: ${plural}`);
    for (const { namespace = '' } of scopes) {
      this.#log.info(`Starting Controller to watch resource type: ${plural} in namespace: ${namespace}`);
    }
  }

  waitingForServer(error: KubeError): void {
    this.#log.warn(`waiting for the API server: ${error.message}`);
  }

  unreadable(ref: SourceRef, error: KubeError): void {
    this.#log.warn(`cannot read ${ref.kind} ${ref.namespace}/${ref.name}: ${error.message}`);
  }

  resumed({ ref }: Workload): void {
    this.#log.info(`Deployment ${ref.namespace}/${ref.name} resumed: its pause period is over`);
  }

  notResumed({ ref }: Workload, error: KubeError): void {
    this.#log.error(`Deployment ${ref.namespace}/${ref.name} is still paused: ${error.message}`);
  }

  unwatchable({ plural, group }: Resource): void {
    this.#log.warn(`${plural} may be listed but not watched: they are listed when a change arrives, which is slower`, {
      cure: `grant watch on ${plural}${group && `.${group}`}`,
    });
  }

  unavailable({ plural, group }: Resource, { namespace }: Scope, error: Error): void {
    this.#log.error(`Failed to list ${plural}${namespace ? ` in namespace ${namespace}` : ''}: ${error.message}`, {
      cure: `grant list and watch on ${plural}${group && `.${group}`}`,
    });
  }

  retrying({ plural }: Resource, error: KubeError, delayMs: number): void {
    this.#log.debug(`${plural}: ${error.message}`, { againInMs: Math.round(delayMs) });
  }

  leading(isLeading: boolean): void {
    this.#metrics.set('attune_leader', {}, isLeading ? 1 : 0);
    this.#log.info(isLeading ? 'became leader, starting to write' : 'lost the lead, nothing is written any more');
  }

  holder(identity: string): void {
    this.#log.info(`leader is ${identity || 'nobody'}`);
  }

  electionTrouble(error: unknown): void {
    this.#log.warn(`leader election: ${error instanceof Error ? error.message : String(error)}`);
  }

  #once(message: string, error: KubeError | undefined, resource: string): void {
    if (this.#said.has(message)) return;
    this.#said.add(message);
    const why = error?.message ?? 'the own namespace is not known';
    const cure = error
      ? `grant get, create, update and delete on ${resource} in the own namespace`
      : 'set POD_NAMESPACE to the namespace that this program runs in';
    this.#log.warn(`${message}: ${why}`, { cure });
  }
}
