/** What is told of an HTTP answer as its bytes come in. */
export interface AnswerListener {
  /** `text`: all of the head, for who wants to look for more in it. */
  head(status: number, retryAfter: string | undefined, text: string): void;
  data(bytes: Buffer): void;
  /** `reusable`: the connection may carry another exchange. */
  end(reusable: boolean): void;
}

type Stage = 'head' | 'sized' | 'until closed' | 'chunk size' | 'chunk' | 'chunk end' | 'trailer';

// Node's own limit is 16 KiB.
const MAX_HEAD_BYTES = 64 * 1024;
const MORE = -1;

// The only fields that matter to us.
const CHUNKED = /\r\ntransfer-encoding:[^\r]*\bchunked[ \t]*(\r|$)/i;
const LENGTH = /\r\ncontent-length:[ \t]*(\d+)/i;
const CLOSE = /^HTTP\/1\.0|\r\nconnection:[^\r]*\bclose\b/i;
const RETRY_AFTER = /\r\nretry-after:[ \t]*([^\r]*)/i;
const DATE = /\r\ndate:[ \t]*([^\r]*)/i;

/** The date that the head of an answer gives. Not told with each: hardly any is looked at. */
export const dateIn = (head: string): string | undefined => DATE.exec(head)?.[1];

/**
 * Reads HTTP/1.1 answers off a connection, one after the other.
 *
 * Invariants
 *  1. What is told does not depend on where the network cut the bytes, but for the pieces of a body.
 *  2. No body is held here, and of a head no more than its limit.
 *  3. Bytes that are no answer throw, after which the connection is of no use.
 */
export class AnswerParser {
  readonly #listener: AnswerListener;
  #stage: Stage = 'head';
  #held: Buffer | undefined;
  /** Bytes of the body, or of its present chunk, that are still to come. */
  #left = 0;
  #reusable = true;
  #isComplete = false;

  constructor(listener: AnswerListener) {
    this.#listener = listener;
  }

  push(chunk: Buffer): void {
    const bytes = this.#held ? joined(this.#held, chunk) : chunk;
    this.#held = undefined;
    let at = 0;
    while (at < bytes.length && !this.#isComplete) {
      const next = this.#step(bytes, at);
      if (next === MORE) {
        if (bytes.length - at > MAX_HEAD_BYTES) throw new Error('the head of the answer is too long');
        this.#held = bytes.subarray(at);
        return;
      }
      at = next;
    }
    // Nobody has asked for what follows an answer.
    if (this.#isComplete) this.#end(this.#reusable && at === bytes.length);
  }

  /** The server has closed the connection; true if that was the proper end of an answer. */
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
    const status = Number(/^HTTP\/1\.\d (\d{3})/.exec(head)?.[1]);
    if (!status) throw new Error('the answer is not HTTP/1.1');
    // "Continue", and other news before the answer proper.
    if (status >= 200) this.#begin(status, head);
    return end + 4;
  }

  #begin(status: number, head: string): void {
    const isEmpty = status === 204 || status === 304;
    const isChunked = CHUNKED.test(head);
    const length = LENGTH.exec(head)?.[1];
    this.#reusable = !CLOSE.test(head);
    this.#left = isEmpty || isChunked ? 0 : Number(length ?? Number.POSITIVE_INFINITY);
    this.#listener.head(status, RETRY_AFTER.exec(head)?.[1], head);
    if (isChunked && !isEmpty) this.#stage = 'chunk size';
    else if (this.#left === 0) this.#isComplete = true;
    else this.#stage = length === undefined ? 'until closed' : 'sized';
  }

  #chunkSize(bytes: Buffer, at: number): number {
    const end = bytes.indexOf('\r\n', at);
    if (end < 0) return MORE;
    const size = /^[\da-f]+/i.exec(bytes.toString('latin1', at, end))?.[0] ?? '';
    this.#left = Number.parseInt(size, 16);
    if (Number.isNaN(this.#left)) throw new Error('the answer has a chunk without a size');
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
    if (this.#stage === 'chunk end') this.#stage = 'chunk size';
    else if (end === at) this.#isComplete = true;
    return end + 2;
  }

  #end(reusable: boolean): void {
    this.#stage = 'head';
    this.#isComplete = false;
    this.#listener.end(reusable);
  }
}

/** What a body is made of is handed over, for good: no second copy of it is left behind. */
function joined(held: Buffer, chunk: Buffer): Buffer {
  const bytes = Buffer.concat([held, chunk]);
  chunk.fill(0);
  return bytes;
}
