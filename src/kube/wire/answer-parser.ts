/** Called with the parts of an HTTP answer as its bytes arrive. */
export interface AnswerListener {
  /** `text` is the whole head. */
  head(status: number, retryAfter: string | undefined, text: string): void;
  data(bytes: Buffer): void;
  /** `reusable`: the connection may carry another exchange. */
  end(reusable: boolean): void;
}

type Stage = 'head' | 'sized' | 'until closed' | 'chunk size' | 'chunk' | 'chunk end' | 'trailer';

// Node's own limit is 16 KiB.
const MAX_HEAD_BYTES = 64 * 1024;
const MORE = -1;

const STATUS = /^HTTP\/1\.\d (\d{3})(?: |\r\n|$)/;
// The fields that say where the body ends: [1] a valid length, [2] any encoding, [3] the only one that we support.
const FRAMING =
  /\r\n(?:content-length:[ \t]*(?:(\d{1,15})[ \t]*(?=\r\n|$))?|(transfer-encoding):[ \t]*(?:(chunked)[ \t]*(?=\r\n|$))?)/gi;
const CHUNK_SIZE = /^([\da-f]{1,13})[ \t]*(?:;|$)/i;
const CLOSE = /^HTTP\/1\.0|\r\nconnection:[^\r]*\bclose\b/i;
const RETRY_AFTER = /\r\nretry-after:[ \t]*([^\r]*)/i;
const DATE = /\r\ndate:[ \t]*([^\r]*)/i;

/** The Date field of a head. Not handed over with every answer, because few are looked at. */
export const dateIn = (head: string): string | undefined => DATE.exec(head)?.[1];

/**
 * Reads HTTP/1.1 answers off a connection, one after the other.
 *
 * Invariants
 *  1. The result does not depend on where the network cut the bytes, except for how a body is cut into pieces.
 *  2. Bodies are not kept here, and of a head no more than its limit.
 *  3. Throws for bytes that are not an answer, or whose end is not plain; the connection cannot be used any more.
 */
export class AnswerParser {
  readonly #listener: AnswerListener;
  #stage: Stage = 'head';
  /** The beginning of a head or line whose end has not arrived. */
  #partial: Buffer | undefined;
  /** Bytes of the body, or of its present chunk, that are still to come. */
  #left = 0;
  #reusable = true;
  #isComplete = false;

  constructor(listener: AnswerListener) {
    this.#listener = listener;
  }

  push(chunk: Buffer): void {
    const bytes = this.#partial ? joined(this.#partial, chunk) : chunk;
    this.#partial = undefined;
    let at = 0;
    while (at < bytes.length && !this.#isComplete) {
      const next = this.#step(bytes, at);
      if (next === MORE) {
        if (bytes.length - at > MAX_HEAD_BYTES) throw new Error('the head of the answer is too long');
        this.#partial = bytes.subarray(at);
        return;
      }
      at = next;
    }
    // Bytes after the answer belong to no request: the connection is not used again.
    if (this.#isComplete) this.#end(this.#reusable && at === bytes.length);
  }

  /** The server has closed the connection; true if that is how the answer was to end. */
  close(): boolean {
    if (this.#stage !== 'until closed') return false;
    this.#end(false);
    return true;
  }

  /** Reads one part and says where the next begins. */
  #step(bytes: Buffer, at: number): number {
    switch (this.#stage) {
      case 'head':
        return this.#head(bytes, at);
      case 'chunk size':
        return this.#chunkSize(bytes, at);
      case 'chunk end':
      case 'trailer':
        return this.#line(bytes, at);
      default:
        return this.#body(bytes, at);
    }
  }

  #head(bytes: Buffer, at: number): number {
    const end = bytes.indexOf('\r\n\r\n', at);
    if (end < 0) return MORE;
    const head = bytes.toString('latin1', at, end);
    const status = Number(STATUS.exec(head)?.[1]);
    if (!status) throw new Error('the answer is not HTTP/1.1');
    // 1xx: the answer itself is still to come.
    if (status >= 200) this.#begin(status, head);
    return end + 4;
  }

  #begin(status: number, head: string): void {
    FRAMING.lastIndex = 0;
    const framing = FRAMING.exec(head);
    const second = framing && FRAMING.exec(head);
    if (second && FRAMING.test(head)) throw new Error('the answer says three times where it ends');
    const isEmpty = status === 204 || status === 304;
    const isChunked = !isEmpty && (framing?.[3] ?? second?.[3]) !== undefined;
    // If the server goes by the other of the two, its next bytes belong to this answer.
    this.#reusable = !second && !CLOSE.test(head);
    this.#left = isEmpty || isChunked ? 0 : lengthIn(framing, second);
    this.#listener.head(status, RETRY_AFTER.exec(head)?.[1], head);
    if (isChunked) this.#stage = 'chunk size';
    else if (this.#left === 0) this.#isComplete = true;
    else this.#stage = this.#left === Number.POSITIVE_INFINITY ? 'until closed' : 'sized';
  }

  #chunkSize(bytes: Buffer, at: number): number {
    const end = bytes.indexOf('\r\n', at);
    if (end < 0) return MORE;
    const size = CHUNK_SIZE.exec(bytes.toString('latin1', at, end))?.[1];
    if (size === undefined) throw new Error('the answer has a chunk without a size');
    this.#left = Number.parseInt(size, 16);
    this.#stage = this.#left === 0 ? 'trailer' : 'chunk';
    return end + 2;
  }

  #body(bytes: Buffer, at: number): number {
    const end = Math.min(bytes.length, at + this.#left);
    this.#left -= end - at;
    this.#listener.data(at === 0 && end === bytes.length ? bytes : bytes.subarray(at, end));
    if (this.#left > 0) return end;
    if (this.#stage === 'chunk') this.#stage = 'chunk end';
    else this.#isComplete = true;
    return end;
  }

  /** The empty line after a chunk, or the lines after the last one until an empty one. */
  #line(bytes: Buffer, at: number): number {
    const end = bytes.indexOf('\r\n', at);
    if (end < 0) return MORE;
    if (this.#stage === 'trailer') this.#isComplete = end === at;
    else if (end === at) this.#stage = 'chunk size';
    else throw new Error('the answer has a chunk that is longer than its size');
    return end + 2;
  }

  #end(reusable: boolean): void {
    this.#stage = 'head';
    this.#isComplete = false;
    this.#listener.end(reusable);
  }
}

/** Without a length, or in an unknown encoding, the body ends when the connection is closed. */
function lengthIn(framing: RegExpExecArray | null, second: RegExpExecArray | null): number {
  if (!framing || (framing[2] ?? second?.[2])) return Number.POSITIVE_INFINITY;
  const isInvalid = framing[1] === undefined || (second && second[1] === undefined);
  if (isInvalid) throw new Error('the answer has a length that is no number');
  return Number(framing[1]);
}

/** The bytes of `chunk` may belong to a Secret: they are overwritten, because the reader only overwrites the copy. */
function joined(partial: Buffer, chunk: Buffer): Buffer {
  const bytes = Buffer.concat([partial, chunk]);
  chunk.fill(0);
  return bytes;
}
