interface Entry<K> {
  readonly key: K;
  at: number;
  /** Breaks ties: first come, first served. */
  order: number;
  index: number;
}

/** Keys by due time: a binary heap that knows where each key is, so that a due time can be moved either way. */
export class DueTimes<K> {
  readonly #heap: Entry<K>[] = [];
  readonly #entries = new Map<K, Entry<K>>();
  #order = 0;

  get size(): number {
    return this.#heap.length;
  }

  /** When the first key is due. */
  get first(): number | undefined {
    return this.#heap[0]?.at;
  }

  at(key: K): number | undefined {
    return this.#entries.get(key)?.at;
  }

  set(key: K, at: number): void {
    this.#order += 1;
    let entry = this.#entries.get(key);
    if (!entry) {
      entry = { key, at, order: 0, index: this.#heap.length };
      this.#entries.set(key, entry);
      this.#heap.push(entry);
    }
    entry.at = at;
    entry.order = this.#order;
    this.#settle(entry);
  }

  delete(key: K): boolean {
    const entry = this.#entries.get(key);
    if (!entry) return false;
    this.#entries.delete(key);
    const last = this.#heap.pop();
    if (last && last !== entry) {
      this.#place(last, entry.index);
      this.#settle(last);
    }
    return true;
  }

  /** Takes out the first key that is due at `now`. */
  takeDue(now: number): K | undefined {
    const entry = this.#heap[0];
    if (!entry || entry.at > now) return undefined;
    this.delete(entry.key);
    return entry.key;
  }

  #place(entry: Entry<K>, index: number): void {
    entry.index = index;
    this.#heap[index] = entry;
  }

  #settle(entry: Entry<K>): void {
    this.#rise(entry);
    this.#sink(entry);
  }

  #rise(entry: Entry<K>): void {
    for (;;) {
      const index = (entry.index - 1) >> 1;
      const parent = index >= 0 ? this.#heap[index] : undefined;
      if (!parent || isBefore(parent, entry)) return;
      this.#place(parent, entry.index);
      this.#place(entry, index);
    }
  }

  #sink(entry: Entry<K>): void {
    for (;;) {
      const left = this.#heap[2 * entry.index + 1];
      const right = this.#heap[2 * entry.index + 2];
      const child = left && right && isBefore(right, left) ? right : left;
      if (!child || isBefore(entry, child)) return;
      const index = child.index;
      this.#place(child, entry.index);
      this.#place(entry, index);
    }
  }
}

const isBefore = <K>(a: Entry<K>, b: Entry<K>): boolean => a.at < b.at || (a.at === b.at && a.order < b.order);
