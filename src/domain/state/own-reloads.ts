import { RELOADED_AT } from '../../api/annotations.ts';
import type { Restart } from '../ledger/restart.ts';
import { parseTime } from '../text/rfc3339.ts';
import type { Workload } from '../workload/workload.ts';

/** What a record or the checkpoint says about our reloads of a workload. */
export interface KeptReloads {
  /** Second of the last one, by the server's clock. */
  readonly reloadedAt?: number | undefined;
  readonly restart?: Restart | undefined;
}

/** Our reloads of one workload: how many were written down, when the last one was, and a restart that is under way. */
export class OwnReloads {
  #seq = 0;
  #at: number | undefined;
  #restart: Restart | undefined;

  constructor({ annotations }: Pick<Workload, 'annotations'>) {
    this.#at = parseTime(annotations[RELOADED_AT] ?? '');
  }

  /** Number of its newest record. */
  get seq(): number {
    return this.#seq;
  }
  /** Second in which the last one began, by the server's clock. */
  get at(): number | undefined {
    return later(this.#at, this.#restart?.at);
  }
  get restart(): Restart | undefined {
    return this.#restart;
  }

  /** The watch may have brought our own record, and its number, before the answer came. */
  numbered(seq: number): void {
    this.#seq = Math.max(this.#seq, seq);
  }

  reloaded(second: number | undefined): void {
    this.#at = later(this.#at, second);
  }

  /** Its pods were counted, for the first time or once more; or the next of them was evicted. */
  restarting(restart: Restart): void {
    this.#restart = restart;
  }

  /** All that waits is in the pods, or nobody asks for it any more. True if there was one. */
  restartEnded(): boolean {
    const isRestart = this.#restart !== undefined;
    this.#at = this.at;
    this.#restart = undefined;
    return isRestart;
  }

  /** What was written down counts: a restart that is not among it was finished by the leader before us, or never began. */
  recall({ reloadedAt, restart }: KeptReloads): void {
    this.reloaded(reloadedAt);
    this.#restart = restart;
  }
}

const later = (one: number | undefined, other: number | undefined): number | undefined =>
  one === undefined || (other !== undefined && other > one) ? other : one;
