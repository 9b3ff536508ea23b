import type { KeyedQueue } from './queue.ts';

interface SlowLaneOptions<K extends string> {
  readonly queue: KeyedQueue<K>;
  /** Ends the work: what has not begun goes back to the queue. */
  readonly signal: AbortSignal;
  /** How many keys fit, but for those that turn out to be slow at the same moment. */
  readonly places: number;
  readonly handle: (key: K) => Promise<void>;
  /** The handling of a key rejected, which it does only with what must end everything. */
  readonly broken: (error: unknown) => void;
}

/**
 * Where keys go on whose handling takes long, because the server does not answer: out of the way of the others.
 *
 * A namespace may fill half of what is free, so that there is always room for one that comes later, and a namespace with
 * nothing but slow keys cannot take all of it. What finds no room waits here too, in the order in which it came, and holds
 * no worker either.
 */
export class SlowLane<K extends string> {
  readonly #queue: KeyedQueue<K>;
  readonly #signal: AbortSignal;
  readonly #places: number;
  readonly #handle: (key: K) => Promise<void>;
  readonly #inside = new Map<string, number>();
  readonly #outside = new Map<string, K[]>();
  #taken = 0;
  readonly #broken: (error: unknown) => void;
  #onEmpty: (() => void) | undefined;

  constructor({ queue, signal, places, handle, broken }: SlowLaneOptions<K>) {
    this.#queue = queue;
    this.#signal = signal;
    this.#places = places;
    this.#handle = handle;
    this.#broken = broken;
  }

  /** True: the key's namespace is slow and has had its share; the key comes when others of it are done. */
  keeps(key: K): boolean {
    const namespace = namespaceOf(key);
    if (this.#hasRoom(namespace)) return false;
    const waiting = this.#outside.get(namespace);
    if (waiting) waiting.push(key);
    else this.#outside.set(namespace, [key]);
    return true;
  }

  /** The handling of the key, which is under way, goes on here. */
  enter(key: K, handled: Promise<void>): void {
    const namespace = namespaceOf(key);
    this.#count(namespace, 1);
    handled.then(() => {
      this.#count(namespace, -1);
      this.#letIn();
    }, this.#broken);
  }

  /** Resolves when nobody is inside or waits. */
  async emptied(): Promise<void> {
    this.#letIn();
    await new Promise<void>((resolve) => {
      this.#onEmpty = resolve;
      if (this.#taken === 0) resolve();
    });
  }

  #hasRoom(namespace: string): boolean {
    return (this.#inside.get(namespace) ?? 0) < Math.ceil((this.#places - this.#taken) / 2);
  }

  #count(namespace: string, by: 1 | -1): void {
    const inside = (this.#inside.get(namespace) ?? 0) + by;
    this.#taken += by;
    if (inside > 0) this.#inside.set(namespace, inside);
    else this.#inside.delete(namespace);
  }

  /** Who has least goes first. */
  #letIn(): void {
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      // What is planned for later comes again by itself, and then with all that happened until then.
      if (this.#queue.dueAt(next) !== undefined) this.#queue.done(next);
      else if (this.#signal.aborted) this.#queue.giveBack(next);
      else this.enter(next, this.#handle(next));
    }
    if (this.#taken === 0) this.#onEmpty?.();
  }

  #next(): K | undefined {
    let first: string | undefined;
    for (const namespace of this.#outside.keys()) {
      if (first === undefined || this.#insideOf(namespace) < this.#insideOf(first)) first = namespace;
    }
    if (first === undefined || !(this.#signal.aborted || this.#hasRoom(first))) return undefined;
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
