import type { Clock } from '../../runtime/clock.ts';
import type { KubeError } from '../kube-error.ts';
import type { EventPost } from './event-post.ts';

/** `full`: more than may wait. `talkative`: one object had its share. `stopped`: there was no time left. */
export type DropCause = 'full' | 'talkative' | 'stopped';

/** What becomes of Events that do not arrive. Told for many at once, never for each. */
export interface EventReport {
  /** From now on some are dropped; the first is this one. */
  dropping(cause: DropCause, first: EventPost): void;
  /** That is over, and so many were. */
  dropped(cause: DropCause, count: number): void;
  /** The server does not take them. */
  refused(error: KubeError): void;
}

// An object that talks too much has come to an end when nothing of it was dropped for so long.
const QUIET_MS = 300_000;

/** Counts what is dropped, by cause, and tells the beginning and the end of it. */
export class DropCounter {
  readonly #clock: Clock;
  readonly #report: EventReport | undefined;
  readonly #counts = new Map<DropCause, number>();
  #cancel: (() => void) | undefined;
  #total = 0;

  constructor(clock: Clock, report: EventReport | undefined) {
    this.#clock = clock;
    this.#report = report;
  }

  get total(): number {
    return this.#total;
  }

  add(cause: 'full' | 'talkative', event: EventPost): void {
    if (!this.#counts.has(cause)) this.#report?.dropping(cause, event);
    this.#count(cause, 1);
    if (cause === 'full') return;
    this.#cancel?.();
    this.#cancel = this.#clock.after(QUIET_MS, () => this.end('talkative'));
  }

  /** There is no time left for so many. */
  lose(count: number): void {
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
    this.#total += count;
    this.#counts.set(cause, (this.#counts.get(cause) ?? 0) + count);
  }
}
