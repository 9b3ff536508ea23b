/** Gives back what was taken; a second call does nothing. */
export type Release = () => void;

interface Waiting {
  readonly amount: number;
  readonly grant: (release: Release) => void;
}

/**
 * A bound on something that clients hold. One client holds at most half of it, so that it cannot keep the others out. If
 * nothing is free, a client waits: its own requests are served in their order, and clients take turns.
 */
export class FairShare {
  readonly #total: number;
  /** The most that one client can hold, and so the most that one request can take. */
  readonly most: number;
  #held = 0;
  readonly #heldBy = new Map<string, number>();
  /** The client whose turn is next comes first. */
  readonly #lines = new Map<string, Set<Waiting>>();

  constructor(total: number) {
    this.#total = total;
    this.most = Math.floor(total / 2);
  }

  /** Waits until the client can hold as much. Rejects with the signal's reason. */
  take(client: string, amount: number, signal: AbortSignal): Promise<Release> {
    if (amount > this.most) return Promise.reject(new RangeError(`expected at most ${this.most}, not ${amount}`));
    if (signal.aborted) return Promise.reject(signal.reason);
    return new Promise((resolve, reject) => {
      const line = this.#lines.get(client) ?? new Set();
      const giveUp = (): void => {
        line.delete(waiting);
        if (line.size === 0 && this.#lines.get(client) === line) this.#lines.delete(client);
        reject(signal.reason);
        // The next one may want less.
        this.#serve();
      };
      const waiting: Waiting = {
        amount,
        grant: (release) => {
          signal.removeEventListener('abort', giveUp);
          resolve(release);
        },
      };
      line.add(waiting);
      this.#lines.set(client, line);
      signal.addEventListener('abort', giveUp, { once: true });
      this.#serve();
    });
  }

  #serve(): void {
    for (let next = this.#next(); next; next = this.#next()) {
      const { client, line, waiting } = next;
      line.delete(waiting);
      this.#lines.delete(client);
      if (line.size > 0) this.#lines.set(client, line);
      this.#hold(client, waiting.amount);
      let isHeld = true;
      waiting.grant(() => {
        if (!isHeld) return;
        isHeld = false;
        this.#hold(client, -waiting.amount);
        this.#serve();
      });
    }
  }

  /** Undefined: nobody can be served now. */
  #next() {
    for (const [client, line] of this.#lines) {
      const [waiting] = line;
      if (!waiting || (this.#heldBy.get(client) ?? 0) + waiting.amount > this.most) continue;
      // Nobody overtakes a large request for ever.
      return this.#held + waiting.amount > this.#total ? undefined : { client, line, waiting };
    }
    return undefined;
  }

  #hold(client: string, amount: number): void {
    this.#held += amount;
    const held = (this.#heldBy.get(client) ?? 0) + amount;
    if (held > 0) this.#heldBy.set(client, held);
    else this.#heldBy.delete(client);
  }
}
