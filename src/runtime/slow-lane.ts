import type { KeyedQueue } from './queue.ts';

interface SlowLaneOptions<K extends string> {
  readonly queue: KeyedQueue<K>;
  /** Ends the work: what has not begun goes back to the queue. */
  readonly signal: AbortSignal;
  /** How many keys it holds; those that turn out to be slow at the same moment may be more. */
  readonly places: number;
  readonly handle: (key: K) => Promise<void>;
  /** Called when the handling of a key rejects, which it does only for an error that must end all work. */
  readonly broken: (error: unknown) => void;
}

/**
 * Keys whose handling takes long, because the server does not answer, continue here instead of holding a worker.
 *
 * A namespace may take half of the free places, so that there is always one left for a namespace that comes later, and
 * one with nothing but slow keys cannot take all of them. Keys that find no place wait here too, in the order in which
 * they came, and hold no worker either.
 */
export class SlowLane<K extends string> {
  readonly #options: SlowLaneOptions<K>;
  readonly #inside = new Map<string, number>();
  readonly #outside = new Map<string, K[]>();
  #taken = 0;
  #onEmpty: (() => void) | undefined;

  constructor(options: SlowLaneOptions<K>) {
    this.#options = options;
  }

  /** True: the key's namespace has had its share of the places; the key is handled when others of it are done. */
  keeps(key: K): boolean {
    const namespace = namespaceOf(key);
    if (this.#hasRoom(namespace)) return false;
    const waiting = this.#outside.get(namespace);
    if (waiting) waiting.push(key);
    else this.#outside.set(namespace, [key]);
    return true;
  }

  /** Takes over a key whose handling is under way. */
  enter(key: K, handled: Promise<void>): void {
    const namespace = namespaceOf(key);
    this.#count(namespace, 1);
    handled.then(() => {
      this.#count(namespace, -1);
      this.#letIn();
    }, this.#options.broken);
  }

  /** Resolves when nobody is inside or waits. */
  emptied(): Promise<void> {
    return new Promise((resolve) => {
      this.#onEmpty = resolve;
      this.#letIn();
    });
  }

  #hasRoom(namespace: string): boolean {
    return this.#insideOf(namespace) < Math.ceil((this.#options.places - this.#taken) / 2);
  }

  #count(namespace: string, by: 1 | -1): void {
    const inside = this.#insideOf(namespace) + by;
    this.#taken += by;
    if (inside > 0) this.#inside.set(namespace, inside);
    else this.#inside.delete(namespace);
  }

  /** The namespace with the fewest keys inside goes first. */
  #letIn(): void {
    const { queue, signal, handle } = this.#options;
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      // What is planned for later comes again by itself, and then with all that happened until then.
      if (queue.dueAt(next) !== undefined) queue.done(next);
      else if (signal.aborted) queue.giveBack(next);
      else this.enter(next, handle(next));
    }
    if (this.#taken === 0) this.#onEmpty?.();
  }

  #next(): K | undefined {
    let first: string | undefined;
    for (const namespace of this.#outside.keys()) {
      if (first === undefined || this.#insideOf(namespace) < this.#insideOf(first)) first = namespace;
    }
    if (first === undefined || !(this.#options.signal.aborted || this.#hasRoom(first))) return undefined;
    const waiting = this.#outside.get(first) ?? [];
    const key = waiting.shift();
    if (waiting.length === 0) this.#outside.delete(first);
    return key;
  }

  #insideOf(namespace: string): number {
    return this.#inside.get(namespace) ?? 0;
  }
}

/** Keys are `Kind/namespace/name`. */
const namespaceOf = (key: string): string => key.split('/')[1] ?? '';
