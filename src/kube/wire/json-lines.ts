const NEWLINE = 0x0a;

/**
 * Cuts a byte stream into lines, however the network cut it into chunks. The caller overwrites each line after use; chunks
 * that were copied into a line are overwritten here.
 *
 * Invariants
 *  1. The lines do not depend on where the chunks were cut, not even inside a character.
 *  2. No more than `maxBytes` plus one chunk are held: a longer line is refused, not collected.
 *  3. What follows the last newline is not a line: its rest may never have been sent.
 */
export class LineSplitter {
  readonly #maxBytes: number;
  #parts: Buffer[] = [];
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** How many bytes of the last line have arrived. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The lines that this chunk completes; undefined when one is too long, and then the stream cannot be read on. */
  push(chunk: Buffer): Buffer[] | undefined {
    const lines: Buffer[] = [];
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      if (this.#bytes + end - start > this.#maxBytes) return undefined;
      const line = this.#complete(chunk, start, end);
      if (line.length > 0) lines.push(line);
      start = end + 1;
    }
    if (start < chunk.length) {
      this.#parts.push(start === 0 ? chunk : chunk.subarray(start));
      this.#bytes += chunk.length - start;
    }
    return this.#bytes > this.#maxBytes ? undefined : lines;
  }

  /** Drops and overwrites what has arrived of the last line. */
  clear(): void {
    for (const part of this.#parts) part.fill(0);
    this.#parts = [];
    this.#bytes = 0;
  }

  #complete(chunk: Buffer, start: number, end: number): Buffer {
    if (this.#parts.length === 0) return chunk.subarray(start, end);
    this.#parts.push(chunk.subarray(start, end));
    const line = Buffer.concat(this.#parts);
    this.clear();
    return line;
  }
}
