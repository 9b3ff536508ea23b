// What is longer is hardly ever there twice.
const MAX_TEXT = 1024;
const MAX_BYTES = 2 * 1024 * 1024;
// Measured: an entry of a Map, and the text.
const ENTRY_BYTES = 64;
// Two for a text outside Latin-1, and as many for a value that holds the text's parts once more.
const BYTES_PER_CHARACTER = 4;

/** What was made of texts that come again and again. Bounded by bytes, and emptied when full; long texts are not kept. */
export class TextCache<V> {
  readonly #values = new Map<string, V>();
  readonly #bytesOf: (value: V) => number;
  #bytes = 0;

  /** `bytesOf`: how much memory a value takes beside the characters of its text. */
  constructor(bytesOf: (value: V) => number = () => 0) {
    this.#bytesOf = bytesOf;
  }

  /** An upper bound of what it holds. */
  get bytes(): number {
    return this.#bytes;
  }

  get(text: string): V | undefined {
    return this.#values.get(text);
  }

  set(text: string, value: V): void {
    if (text.length > MAX_TEXT) return;
    const previous = this.#values.get(text);
    const ofText = ENTRY_BYTES + BYTES_PER_CHARACTER * text.length;
    const bytes = previous === undefined ? ofText : -this.#bytesOf(previous);
    this.#bytes += bytes + this.#bytesOf(value);
    if (this.#bytes > MAX_BYTES) {
      this.#values.clear();
      this.#bytes = ofText + this.#bytesOf(value);
    }
    this.#values.set(text, value);
  }
}
