import type { EventPost, Occurrences } from './event-post.ts';
import { repetitionKey, shortened } from './event-post.ts';

/** An Event on its way, with all that happened again before it was sent. */
export interface WaitingEvent extends Occurrences {
  readonly key: string;
  readonly event: EventPost;
  readonly bytes: number;
}

// Measured: the object, its names and its place take 480 bytes, a character of the message one, or two if it is rare.
const FIXED_BYTES = 512;
const BYTES_PER_CHARACTER = 2;

/**
 * Events that wait, in their order, and those in hand.
 *
 * Invariants
 *  1. What waits and what is in hand is bounded by bytes, whatever is added.
 *  2. A repetition is counted on the one that waits.
 *  3. Of one object only one is in hand: its last word has to be the last, and who counts up has to know the one before.
 */
export class EventQueue {
  readonly #maxBytes: number;
  readonly #waiting = new Map<string, WaitingEvent>();
  /** Objects, by uid. */
  readonly #inHand = new Set<string>();
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

  /** False: there is no room for it. */
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

  /** The first about an object of which none is in hand; to be handed back with `done`. */
  take(): WaitingEvent | undefined {
    for (const [key, waiting] of this.#waiting) {
      const { uid } = waiting.event.regarding;
      if (this.#inHand.has(uid)) continue;
      this.#waiting.delete(key);
      this.#inHand.add(uid);
      return waiting;
    }
    return undefined;
  }

  done({ event, bytes }: WaitingEvent): void {
    this.#inHand.delete(event.regarding.uid);
    this.#bytes -= bytes;
  }

  /** Forgets what waits, and says how many that were. */
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

/** Characters of what differs from Event to Event. */
const lengthOf = ({ message, annotations = {} }: EventPost): number =>
  Object.entries(annotations).reduce((sum, [key, text]) => sum + key.length + text.length, message.length);
