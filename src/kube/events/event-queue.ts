import type { EventPost, Occurrences } from './event-post.ts';
import { repetitionKey, shortened } from './event-post.ts';

/** An Event to be sent, with the repetitions that were added meanwhile. */
export interface WaitingEvent extends Occurrences {
  readonly key: string;
  readonly event: EventPost;
  readonly bytes: number;
}

// Measured: object and names take 480 bytes, a character of the message one byte, or two outside of Latin-1.
const FIXED_BYTES = 512;
const BYTES_PER_CHARACTER = 2;

/**
 * Events that wait, in their order, and those being sent.
 *
 * Invariants
 *  1. The bytes of all of them are bounded.
 *  2. A repetition is counted on the Event that waits.
 *  3. Of one object only one is being sent, so that they arrive in order and a repetition finds the Event to count up.
 */
export class EventQueue {
  readonly #maxBytes: number;
  readonly #waiting = new Map<string, WaitingEvent>();
  /** The objects' uids. */
  readonly #sending = new Set<string>();
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** How full it is, from 0 to 1. */
  get fill(): number {
    return this.#bytes / this.#maxBytes;
  }

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  /** False: the queue is full. */
  add(post: EventPost, at: number): boolean {
    const event = shortened(post);
    const key = repetitionKey(event);
    const same = this.#waiting.get(key);
    if (same) {
      this.#waiting.set(key, { ...same, count: same.count + 1, lastAt: at });
      return true;
    }
    const bytes = FIXED_BYTES + BYTES_PER_CHARACTER * lengthOf(event);
    if (this.#bytes + bytes > this.#maxBytes) return false;
    this.#bytes += bytes;
    this.#waiting.set(key, { key, event, bytes, count: 1, firstAt: at, lastAt: at });
    return true;
  }

  /** The first about an object of which none is being sent; call `done` when it was. */
  take(): WaitingEvent | undefined {
    for (const [key, waiting] of this.#waiting) {
      const { uid } = waiting.event.regarding;
      if (this.#sending.has(uid)) continue;
      this.#waiting.delete(key);
      this.#sending.add(uid);
      return waiting;
    }
    return undefined;
  }

  done({ event, bytes }: WaitingEvent): void {
    this.#sending.delete(event.regarding.uid);
    this.#bytes -= bytes;
  }

  /** Drops what waits; returns how many that were. */
  clear(): number {
    let count = 0;
    for (const waiting of this.#waiting.values()) {
      count += waiting.count;
      this.#bytes -= waiting.bytes;
    }
    this.#waiting.clear();
    return count;
  }
}

/** The length of what differs from Event to Event. */
const lengthOf = ({ message, annotations = {} }: EventPost): number =>
  Object.entries(annotations).reduce((sum, [key, text]) => sum + key.length + text.length, message.length);
