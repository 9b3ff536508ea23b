import type { Clock } from '../../runtime/clock.ts';
import type { KubeError } from '../kube-error.ts';
import type { EventPost } from './event-post.ts';

/** `full`: the queue was. `limited`: one object had too many. `stopped`: they were not sent before the process ended. */
export type DropCause = 'full' | 'limited' | 'stopped';

/** Called about Events that are not delivered: for many at once, never for each. */
export interface EventReport {
  /** The first of a series is dropped. */
  dropping(cause: DropCause, first: EventPost): void;
  /** The series has ended; so many were dropped. */
  dropped(cause: DropCause, count: number): void;
  /** The server did not accept one. */
  refused(error: KubeError): void;
}

// A series by `limited` ends when none was dropped for so long.
const QUIET_MS = 300_000;

/** Counts dropped Events by cause, and reports the beginning and the end of each series. */
export class DropCounter {
  readonly #clock: Clock;
  readonly #report: EventReport | undefined;
  readonly #counts = new Map<DropCause, number>();
  #cancel: (() => void) | undefined;
  total = 0;

  constructor(clock: Clock, report: EventReport | undefined) {
    this.#clock = clock;
    this.#report = report;
  }

  add(cause: 'full' | 'limited', event: EventPost): void {
    if (!this.#counts.has(cause)) this.#report?.dropping(cause, event);
    this.#count(cause, 1);
    if (cause === 'full') return;
    this.#cancel?.();
    this.#cancel = this.#clock.after(QUIET_MS, () => this.end('limited'));
  }

  /** So many could not be sent before the end. */
  addUnsent(count: number): void {
    if (count > 0) this.#count('stopped', count);
  }

  end(cause: DropCause): void {
    const count = this.#counts.get(cause);
    if (count === undefined) return;
    this.#counts.delete(cause);
    this.#report?.dropped(cause, count);
  }

  close(): void {
    this.#cancel?.();
    for (const cause of [...this.#counts.keys()]) this.end(cause);
  }

  #count(cause: DropCause, count: number): void {
    this.total += count;
    this.#counts.set(cause, (this.#counts.get(cause) ?? 0) + count);
  }
}
