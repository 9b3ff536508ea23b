import type { KubeError } from '../../kube/kube-error.ts';
import type { Clock } from '../../runtime/clock.ts';
import { TextCache } from '../../runtime/text-cache.ts';

/** Trouble that lasts is said so often. */
export const AGAIN_MS = 60_000;

/** Errors of one cause are said once, whatever they are about. */
export const causeOf = ({ status, reason }: KubeError): string => `${status} ${reason}`;

/** Remembers what was said, so that what happens again and again is not said each time. */
export class Reminders {
  readonly #clock: Clock;
  readonly #saidAt = new TextCache<number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether it is to be said: the first time, and again when so much time has passed. */
  isDue(what: string, againMs = Number.POSITIVE_INFINITY): boolean {
    const now = this.#clock.now();
    const last = this.#saidAt.get(what);
    if (last !== undefined && now - last < againMs) return false;
    this.#saidAt.set(what, now);
    return true;
  }
}
