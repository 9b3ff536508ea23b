import type { ConfigKey } from '../../domain/reloader-config/config.ts';
import type { WorkloadRef } from '../../domain/workload/workload.ts';
import type { DropCause } from '../../kube/events/event-drops.ts';
import type { EventPost } from '../../kube/events/event-post.ts';
import { KubeError } from '../../kube/kube-error.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Log } from '../../telemetry/log.ts';
import type { ControllerMetrics } from '../../telemetry/metric-tables/controller.ts';
import { AGAIN_MS, causeOf, Reminders } from './reminders.ts';
import { nameOf } from './render/outcome-words.ts';

const DROPPED: Readonly<Record<DropCause, string>> = {
  full: 'too many were waiting for the API server',
  limited: 'single objects had their share of 25, and one more every five minutes',
  stopped: 'there was no time left to send them',
};

// Ours and Stakater's last 15 s. Another program, or a person, may have written any number.
const LONG_LEASE_MS = 3_600_000;

export interface SystemReportDeps {
  readonly log: Log;
  readonly metrics: ControllerMetrics;
  readonly clock: Clock;
  /** False on a standby: the replica that leads tells what happens, keeps the ledger, and catches up. */
  readonly mayTell: () => boolean;
  /** Aborted when the process is told to end. */
  readonly ending: AbortSignal;
}

/**
 * Whether a last write was refused because the process is being uninstalled: Helm removes the rights and the ServiceAccount
 * before the pod. Operators need not be warned.
 */
export const isRefusedAtEnd = (error: KubeError, { ending }: Pick<SystemReportDeps, 'ending'>): boolean =>
  ending.aborted && [401, 403, 404].includes(error.status);

/** The program itself: who leads, which Events do not arrive, what is not finished. */
export class SystemReport {
  readonly #log: Log;
  readonly #reminders: Reminders;
  readonly #ending: AbortSignal;

  constructor({ log, clock, ending }: SystemReportDeps) {
    this.#log = log;
    this.#reminders = new Reminders(clock);
    this.#ending = ending;
  }

  leading(isLeading: boolean): void {
    this.#log.info(isLeading ? 'became leader, starting to write' : 'lost the lead, nothing is written any more');
  }

  holder(identity: string, leaseMs: number): void {
    this.#log.info(`leader is ${identity || 'nobody'}`);
    if (identity === '' || leaseMs <= LONG_LEASE_MS) return;
    this.#log.warn(
      `the Lease of ${identity} lasts ${leaseMs / 1000} s: without that leader, no replica takes over before`,
      {
        cure: `if ${identity} does not run any more, delete the Lease`,
      },
    );
  }

  electionTrouble(error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    if (this.#isRefusedAtEnd('leader election', error)) return;
    if (this.#reminders.isDue(`election ${KubeError.is(error) ? causeOf(error) : message}`, AGAIN_MS)) {
      this.#log.warn(`leader election: ${message}`);
    }
  }

  /** There is no room for some Events, or their object had its share. */
  droppingEvents(cause: DropCause, { regarding: { kind, namespace, name } }: EventPost): void {
    this.#log.warn(`Events are being dropped: ${DROPPED[cause]}`, { kind, namespace, name });
  }

  droppedEvents(cause: DropCause, count: number): void {
    this.#log.warn(`${count} Events were dropped: ${DROPPED[cause]}`);
  }

  /** A namespace that is going or gone takes none, and nobody misses them there. */
  refusedEvent(error: KubeError): void {
    const isOver = error.status === 404 || error.message.includes('being terminated');
    if (this.#isRefusedAtEnd('Events do not arrive', error)) return;
    if (isOver || !this.#reminders.isDue(`event ${causeOf(error)}`)) return;
    this.#log.warn(`Events do not arrive: ${error.message}`, {
      cure: error.status === 403 ? 'grant create and patch on events' : undefined,
      metric: 'attune_event_posts_total',
    });
  }

  /** Nobody is held up by it: nothing is decided by a status. */
  statusRefused(error: KubeError): void {
    if (this.#isRefusedAtEnd('the status of ReloaderConfigs cannot be written', error)) return;
    if (!this.#reminders.isDue(`status ${causeOf(error)}`)) return;
    this.#log.warn(`the status of ReloaderConfigs cannot be written: ${error.message}`, {
      cure: error.status === 403 ? 'grant patch on reloaderconfigs/status' : undefined,
    });
  }

  statusFailed(key: ConfigKey, error: unknown): void {
    this.#log.error(`the status of ReloaderConfig ${key} was not worked out`, { error: String(error), retry: 'soon' });
  }

  stuckJob(ref: WorkloadRef, error: KubeError): void {
    this.#log.error(`${nameOf({ ref })} is being replaced, and that is not finished yet: ${error.message}`, {
      ...ref,
      retry: 'soon',
    });
  }

  #isRefusedAtEnd(what: string, error: unknown): boolean {
    if (!KubeError.is(error) || !isRefusedAtEnd(error, { ending: this.#ending })) return false;
    this.#log.debug(`${what}: ${error.message}`);
    return true;
  }
}
