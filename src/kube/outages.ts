// Shorter outages need no signal: by then the back-offs are short as well.
const SHORT_MS = 5000;

/** No answer, or one that says the server cannot serve us now, or does not accept our credential. */
export const isOutage = ({ status }: { readonly status: number }): boolean =>
  status === 0 || status === 401 || status === 429 || status === 502 || status === 503 || status === 504;

/**
 * Notices that the server is back after a time in which every call failed for want of an answer. One resource alone may
 * have a problem of its own, so at least two have to fail.
 */
export class OutageDetector {
  readonly #now: () => number;
  readonly #listeners: ((lastedMs: number) => void)[] = [];
  readonly #resources = new Set<string>();
  #since: number | undefined;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** The listener is called at the first answer after each outage, with its length. */
  onOver(listener: (lastedMs: number) => void): void {
    this.#listeners.push(listener);
  }

  /** A call has ended; status 0: without an answer. */
  ended(resource: string, status: number): void {
    if (isOutage({ status })) {
      this.#since ??= this.#now();
      this.#resources.add(resource);
      return;
    }
    if (this.#since === undefined) return;
    const lastedMs = this.#now() - this.#since;
    const isOver = this.#resources.size > 1 && lastedMs >= SHORT_MS;
    this.#since = undefined;
    this.#resources.clear();
    if (isOver) for (const listener of this.#listeners) listener(lastedMs);
  }
}
