// What is longer is hardly ever there twice.
const MAX_TEXT = 1024;
const MAX_BYTES = 2 * 1024 * 1024;
// Measured: an entry of a Map, and a value that holds the text's parts once more.
const ENTRY_BYTES = 64;
const BYTES_PER_CHARACTER = 4;

/** What was made of texts that come again and again. Bounded by bytes, and emptied when full; long texts are not kept. */
export class TextCache<V> {
  readonly #values = new Map<string, V>();
  #bytes = 0;

  /** An upper bound of what it holds. */
  get bytes(): number {
    return this.#bytes;
  }

  get(text: string): V | undefined {
    return this.#values.get(text);
  }

  set(text: string, value: V): void {
    if (text.length > MAX_TEXT) return;
    const bytes = this.#values.has(text) ? 0 : ENTRY_BYTES + BYTES_PER_CHARACTER * text.length;
    if (this.#bytes + bytes > MAX_BYTES) {
      this.#values.clear();
      this.#bytes = 0;
    }
    this.#bytes += bytes;
    this.#values.set(text, value);
  }
}
