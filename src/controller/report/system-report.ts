import type { Resource } from '../../api/resources.ts';
import type { SourceKind, SourceRef } from '../../api/sources.ts';
import { UNKNOWN } from '../../domain/ledger/ledger.ts';
import { refOfKey, type Workload, type WorkloadKey, type WorkloadRef } from '../../domain/workload/workload.ts';
import type { ListScope } from '../../kube/client.ts';
import type { DropCause } from '../../kube/events/event-drops.ts';
import type { EventPost } from '../../kube/events/event-post.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { isTransient } from '../../kube/retry-transient.ts';
import type { SourceChange } from '../../model/sources/source-history.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { NotReady } from '../follow/hindrance.ts';
import { LedgerReport, ownCure, type SystemReportDeps } from './ledger-report.ts';

// What goes on and on is told so often.
const AGAIN_MS = 60_000;

/** Upstream's words. */
const EVENT_TYPE = { add: 'add', change: 'update', remove: 'delete' } as const;

const PLURAL: Readonly<Record<SourceKind, string>> = {
  ConfigMap: 'configmaps',
  Secret: 'secrets',
  SecretProviderClass: 'secretproviderclasses',
};

const DROPPED: Readonly<Record<DropCause, string>> = {
  full: 'too many were waiting for the API server',
  limited: 'single objects had their share of 25, and one more every five minutes',
  stopped: 'there was no time left to send them',
};

/** What there is to say about the program itself: what it may not see, what it cannot keep, who leads. */
export class SystemReport extends LedgerReport {
  readonly #log: Log;
  readonly #metrics: Metrics;
  readonly #clock: Clock;
  readonly #said = new Map<string, number>();

  constructor(deps: SystemReportDeps) {
    super(deps);
    this.#log = deps.log;
    this.#metrics = deps.metrics;
    this.#clock = deps.clock;
  }

  turned(turn: SourceChange): void {
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

  keyless(error: KubeError | undefined): void {
    const message = 'nothing is remembered about Secrets over a restart';
    this.#withoutOwn(message, error, 'get and create on secrets');
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

  recordNotRewritten(key: WorkloadKey, error: KubeError): void {
    const ref = refOfKey(key);
    this.#log.warn(`the record of ${nameOf(ref)} still has fingerprints of the former key: ${error.message}`, {
      ...ref,
    });
  }

  unsafeJobs(error: KubeError | undefined): void {
    const message = 'Jobs are replaced without a safety net: a crash between delete and create loses one';
    this.#withoutOwn(message, error, 'get, create and patch on secrets');
  }

  stuckJob(ref: WorkloadRef, error: KubeError): void {
    this.#log.error(`${nameOf(ref)} is being replaced, and that is not finished yet: ${error.message}`, {
      ...ref,
      retry: 'soon',
    });
  }

  /** Upstream's words: scripts wait for them. */
  following({ plural }: Resource, scopes: readonly ListScope[]): void {
    this.#log.info(`created controller for: ${plural}`);
    for (const { namespace = '' } of scopes) {
      this.#log.info(`Starting Controller to watch resource type: ${plural} in namespace: ${namespace}`);
    }
  }

  /** Nothing can be done: why, and what would change that. */
  notReady({ message, cure }: NotReady, wasReady: boolean): void {
    this.#log.error(`Attune is not ready${wasReady ? ' any more' : ''}: ${message}`, { cure });
  }

  waitingForServer(error: KubeError): void {
    if (this.#isDue(`waiting ${causeOf(error)}`, AGAIN_MS)) {
      this.#log.warn(`waiting for the API server: ${error.message}`);
    }
  }

  /** Sources of a kind may not be read one by one. */
  readByListing({ kind }: SourceRef, error: KubeError): void {
    this.#metrics.increment('attune_source_read_errors_total', { kind, reason: error.reason });
    if (!this.#isDue(`listed ${kind}`)) return;
    const plural = PLURAL[kind];
    this.#log.warn(`${plural} may not be read one by one, so each is listed by its name: ${error.message}`, {
      cure: `grant get on ${plural}`,
    });
  }

  /** Told once for each kind and cause; what follows is only counted. */
  unreadable({ kind, namespace, name }: SourceRef, error: KubeError): void {
    this.#metrics.increment('attune_source_read_errors_total', { kind, reason: error.reason });
    const message = `cannot read ${kind} ${namespace}/${name}: ${error.message}`;
    const fields = { namespace, source: `${kind}/${name}` };
    if (!this.#isDue(`unreadable ${kind} ${causeOf(error)}`)) this.#log.debug(message, fields);
    else {
      this.#log.warn(`${message}; until it can be read, or changes, its users are left as they are`, {
        ...fields,
        retry: isTransient(error) ? 'soon' : 'in some minutes',
        cure: error.status === 403 ? `grant get on ${PLURAL[kind]}` : undefined,
        metric: 'attune_source_read_errors_total',
      });
    }
  }

  /** Some Events find no room, or their object had its share. */
  droppingEvents(cause: DropCause, { regarding: { kind, namespace, name } }: EventPost): void {
    this.#log.warn(`Events are being dropped: ${DROPPED[cause]}`, { kind, namespace, name });
  }

  droppedEvents(cause: DropCause, count: number): void {
    this.#log.warn(`${count} Events were dropped: ${DROPPED[cause]}`);
  }

  /** A namespace that is going or gone takes none, and nobody misses them there. */
  refusedEvent(error: KubeError): void {
    const isOver = error.status === 404 || error.message.includes('being terminated');
    if (isOver || !this.#isDue(`event ${causeOf(error)}`)) return;
    this.#log.warn(`Events do not arrive: ${error.message}`, {
      cure: error.status === 403 ? 'grant create and patch on events' : undefined,
      metric: 'attune_event_posts_total',
    });
  }

  /** Everything is listed: what there is to do from now on. `asking` is undefined where changes are only posted. */
  watching({ asking, sources }: { readonly asking: number | undefined; readonly sources: number }): void {
    const who = asking === undefined ? 'changes are posted to the webhook' : `${asking} workloads ask for reloads`;
    this.#log.info(`${who}, ${sources} sources are watched`, { workloads: asking, sources });
  }

  paused({ ref }: Workload, untilMs: number): void {
    const until = new Date(untilMs).toISOString();
    this.#log.info(`${nameOf(ref)} paused by its pause period until ${until}: its pods stay as they are until then`, {
      ...ref,
      until,
    });
  }

  resumed({ ref }: Workload, by: 'us' | 'another'): void {
    const why = by === 'us' ? 'its pause period is over' : 'another writer ended its pause period';
    this.#log.info(`${nameOf(ref)} resumed: ${why}`, { ...ref });
  }

  notResumed({ ref }: Workload, error: KubeError): void {
    this.#log.error(`${nameOf(ref)} is still paused: ${error.message}`, { ...ref, retry: 'soon' });
  }

  unwatchable({ plural, group }: Resource): void {
    this.#log.warn(`${plural} may be listed but not watched: they are listed when a change arrives, which is slower`, {
      cure: `grant watch on ${plural}${group && `.${group}`}`,
    });
  }

  unavailable({ plural, group }: Resource, { namespace }: ListScope, error: Error): void {
    const isThere = !KubeError.is(error) || error.status !== 404;
    this.#log.error(`Failed to list ${plural}${namespace ? ` in namespace ${namespace}` : ''}: ${error.message}`, {
      cure: isThere ? `grant list and watch on ${plural}${group && `.${group}`}` : undefined,
    });
  }

  retrying({ plural }: Resource, error: KubeError, delayMs: number): void {
    this.#log.debug(`${plural}: ${error.message}`, { retryInMs: Math.round(delayMs) });
  }

  leading(isLeading: boolean): void {
    this.#log.info(isLeading ? 'became leader, starting to write' : 'lost the lead, nothing is written any more');
  }

  holder(identity: string): void {
    this.#log.info(`leader is ${identity || 'nobody'}`);
  }

  electionTrouble(error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    if (this.#isDue(`election ${KubeError.is(error) ? causeOf(error) : message}`, AGAIN_MS)) {
      this.#log.warn(`leader election: ${message}`);
    }
  }

  /** Something is not kept in the own namespace. */
  #withoutOwn(message: string, error: KubeError | undefined, rights: string): void {
    if (!this.#isDue(message)) return;
    const cure = error ? ownCure(error, rights) : 'set POD_NAMESPACE to the namespace that this program runs in';
    this.#log.warn(`${message}: ${error?.message ?? 'its own namespace is not known'}`, { cure });
  }

  /** Whether something is to be said: once, or again when so much time has passed. */
  #isDue(what: string, againMs = Number.POSITIVE_INFINITY): boolean {
    const now = this.#clock.now();
    const last = this.#said.get(what);
    if (last !== undefined && now - last < againMs) return false;
    this.#said.set(what, now);
    return true;
  }
}

const nameOf = ({ kind, namespace, name }: WorkloadRef): string => `${kind} ${namespace}/${name}`;

const causeOf = ({ status, reason }: KubeError): string => `${status} ${reason}`;
