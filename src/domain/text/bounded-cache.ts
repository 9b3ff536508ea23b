/** Keeps the values that were used last, up to a total weight. */
export class BoundedCache<Value> {
  readonly #capacity: number;
  readonly #kept = new Map<string, { readonly value: Value; readonly weight: number }>();
  #weight = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** The weight of all values, never above the capacity. */
  get weight(): number {
    return this.#weight;
  }

  get(key: string): Value | undefined {
    const found = this.#kept.get(key);
    if (found === undefined) return undefined;
    // A Map iterates in insertion order: the value moves to the end, away from eviction.
    this.#kept.delete(key);
    this.#kept.set(key, found);
    return found.value;
  }

  set(key: string, value: Value, weight: number): void {
    this.#drop(key);
    if (weight > this.#capacity) return;
    for (const oldest of this.#kept.keys()) {
      if (this.#weight + weight <= this.#capacity) break;
      this.#drop(oldest);
    }
    this.#kept.set(key, { value, weight });
    this.#weight += weight;
  }

  #drop(key: string): void {
    this.#weight -= this.#kept.get(key)?.weight ?? 0;
    this.#kept.delete(key);
  }
}
