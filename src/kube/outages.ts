// What passes sooner needs nothing: a back-off is about as long as what it has been through.
const SHORT_MS = 5000;

/** Nobody answered, or somebody who only says that the server cannot, or that we are nobody whom it knows. */
export const isOutage = ({ status }: { readonly status: number }): boolean =>
  status === 0 || status === 401 || status === 429 || status === 502 || status === 503 || status === 504;

/**
 * Notices that the server is back after a time in which nothing got through: neither a call that succeeded nor one that
 * the server refused. One resource alone may have troubles of its own, so at least two have to fail.
 */
export class OutageDetector {
  readonly #now: () => number;
  readonly #listeners: ((lastedMs: number) => void)[] = [];
  readonly #resources = new Set<string>();
  #since: number | undefined;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Called with the first answer after each outage, and how long that was. */
  onOver(listener: (lastedMs: number) => void): void {
    this.#listeners.push(listener);
  }

  /** A call ended; status 0: without an answer. */
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
