const EMPTY: ReadonlyMap<never, never> = new Map<never, never>();

/**
 * A Map that is empty most of the time, and then costs next to nothing. An empty Map takes 184 bytes, and there may be
 * half a dozen for each of thousands of objects.
 */
export class SparseMap<K, V> {
  #map: Map<K, V> | undefined;

  get size(): number {
    return this.#map?.size ?? 0;
  }

  has(key: K): boolean {
    return this.#map?.has(key) === true;
  }

  get(key: K): V | undefined {
    return this.#map?.get(key);
  }

  set(key: K, value: V): void {
    this.#map ??= new Map();
    this.#map.set(key, value);
  }

  delete(key: K): void {
    this.#map?.delete(key);
    if (this.#map?.size === 0) this.#map = undefined;
  }

  clear(): void {
    this.#map = undefined;
  }

  /** To be read, not to be kept: the next change may replace it. */
  get entries(): ReadonlyMap<K, V> {
    return this.#map ?? EMPTY;
  }
}
