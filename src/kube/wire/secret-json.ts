import { decodeBase64 } from './base64-bytes.ts';

/** What was read of Secrets; their data are bytes, of which nothing is left after `erase`. */
export interface Erasable<T> {
  readonly value: T;
  erase(): void;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const COMMA = 0x2c;
const SPACE = 0x20;

/** Where in the answer we are: in a Secret, or in what Secrets come in; in its metadata; in what must not become a string. */
type Place = 'object' | 'metadata' | 'data' | 'notes' | 'other';

const MEMBERS: Readonly<Record<Place, (name: string) => Place>> = {
  object: (name) => WITHIN_OBJECT.get(name) ?? 'other',
  metadata: (name) => (name === 'annotations' ? 'notes' : 'other'),
  data: () => 'data',
  notes: () => 'notes',
  other: () => 'other',
};
// `object` of an event, `items` of a list.
const WITHIN_OBJECT: ReadonlyMap<string, Place> = new Map([
  ['object', 'object'],
  ['items', 'object'],
  ['metadata', 'metadata'],
  ['data', 'data'],
  ['stringData', 'data'],
]);
// The flags that an annotation can be are shorter, and what kubectl applied, with the data in it, is longer.
const MAX_NOTE_BYTES = 16;
const NEAR = 64;

/**
 * Parses an answer with Secrets in it without ever making a string of their data: V8 does not overwrite what it frees, and a
 * string would be found in a memory dump long after it is gone. Undefined for what is not JSON.
 */
export function parseSecrets(bytes: Buffer): Erasable<unknown> | undefined {
  try {
    const scan = new Scan(bytes);
    scan.value('object');
    const value: unknown = JSON.parse(scan.text());
    const { values, erase } = decoded(bytes, scan.data);
    fill(value, values);
    return { value, erase };
  } catch {
    return undefined;
  }
}

interface Span {
  readonly start: number;
  readonly end: number;
}

function decoded(bytes: Buffer, spans: readonly Span[]): { readonly values: readonly Buffer[]; erase(): void } {
  // Not from Node's pool, nor from V8's heap, where what is small would be, and be left behind when it moves.
  const all = Buffer.from(new ArrayBuffer(spans.reduce((sum, { start, end }) => sum + end - start, 0)));
  let at = 0;
  const values = spans.map(({ start, end }) => {
    const length = decodeBase64(bytes.subarray(start, end), all.subarray(at));
    at += length;
    return all.subarray(at - length, at);
  });
  return { values, erase: () => void all.fill(0) };
}

interface Holder {
  readonly data?: Record<string, unknown> | null;
  readonly object?: Holder | null;
  readonly items?: readonly (Holder | null)[] | null;
}

/** Puts the bytes where their numbers are. */
function fill(value: unknown, values: readonly Buffer[]): void {
  const { data, object, items } = (value ?? {}) as Holder;
  // No other string can be there.
  for (const key in data) if (typeof data[key] === 'string') data[key] = values[Number(data[key])];
  if (object) fill(object, values);
  if (Array.isArray(items)) for (const item of items) fill(item, values);
}

/** Goes through the bytes once. What is not JSON is left to the parser, but for an end that does not come. */
class Scan {
  /** Where the data stand; in the text there is the number of each. */
  readonly data: Span[] = [];
  readonly #bytes: Buffer;
  #at = 0;
  #text = '';
  #copied = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** The text without the data. */
  text(): string {
    return this.#text + this.#bytes.toString('utf8', this.#copied);
  }

  value(place: Place): void {
    const first = this.#next();
    if (first === QUOTE) this.#string(place);
    else if (first === OPEN_BRACE && place !== 'other') this.#members(place);
    else if (first === OPEN_BRACKET && place !== 'other') this.#elements(place);
    else if (first === OPEN_BRACE || first === OPEN_BRACKET) this.#pass();
    else this.#passWord();
  }

  #members(place: Place): void {
    this.#at += 1;
    for (let next = this.#next(); next !== CLOSE_BRACE; next = this.#next()) {
      if (next === COMMA) {
        this.#at += 1;
        continue;
      }
      if (next !== QUOTE) throw new SyntaxError();
      const start = this.#at + 1;
      this.#passString();
      const within = MEMBERS[place](nameIn(this.#bytes, start, this.#at - 1));
      this.#next();
      // The colon.
      this.#at += 1;
      this.value(within);
    }
    this.#at += 1;
  }

  #elements(place: Place): void {
    this.#at += 1;
    for (let next = this.#next(); next !== CLOSE_BRACKET; next = this.#next()) {
      if (next === COMMA) this.#at += 1;
      else this.value(place);
    }
    this.#at += 1;
  }

  #string(place: Place): void {
    const start = this.#at + 1;
    this.#passString();
    const end = this.#at - 1;
    if (place === 'data') this.#withhold(start, end, `"${this.data.push({ start, end }) - 1}"`);
    else if (place === 'notes' && end - start > MAX_NOTE_BYTES) this.#withhold(start, end, '""');
  }

  /** Says something else in the place of a string. */
  #withhold(start: number, end: number, instead: string): void {
    this.#text += this.#bytes.toString('utf8', this.#copied, start - 1) + instead;
    this.#copied = end + 1;
  }

  /** The next byte that is not white space; 0 at the end, which nothing expects. */
  #next(): number {
    const bytes = this.#bytes;
    let at = this.#at;
    while (at < bytes.length && (bytes[at] as number) <= SPACE) at += 1;
    this.#at = at;
    if (at >= bytes.length) throw new SyntaxError();
    return bytes[at] as number;
  }

  /** Over an object or a list that holds nothing of interest. */
  #pass(): void {
    const bytes = this.#bytes;
    let at = this.#at;
    let depth = 0;
    for (; at < bytes.length; at += 1) {
      const byte = bytes[at] as number;
      if (byte === QUOTE) at = endOfString(bytes, at);
      // A brace and a bracket differ in these bits alone from what closes them, and in one from each other.
      else if ((byte | 0x20) === OPEN_BRACE) depth += 1;
      else if ((byte | 0x20) === CLOSE_BRACE && --depth === 0) break;
    }
    if (depth > 0) throw new SyntaxError();
    this.#at = at + 1;
  }

  /** Over a number, true, false or null. */
  #passWord(): void {
    const start = this.#at;
    for (let byte = this.#bytes[this.#at]; byte !== undefined; byte = this.#bytes[this.#at]) {
      if (byte === COMMA || byte === CLOSE_BRACE || byte === CLOSE_BRACKET || byte <= SPACE) break;
      this.#at += 1;
    }
    if (this.#at === start) throw new SyntaxError();
  }

  #passString(): void {
    this.#at = endOfString(this.#bytes, this.#at) + 1;
  }
}

/** Where the closing quote is. */
function endOfString(bytes: Buffer, opening: number): number {
  let at = opening + 1;
  for (const near = Math.min(bytes.length, at + NEAR); at < near; at += 1) {
    const byte = bytes[at] as number;
    if (byte === QUOTE) return at;
    if (byte === BACKSLASH) at += 1;
  }
  return farEnd(bytes, at);
}

/** The same for a long one: Node looks for bytes faster than we do, once it has begun. */
function farEnd(bytes: Buffer, from: number): number {
  for (let at = bytes.indexOf(QUOTE, from); at >= 0; at = bytes.indexOf(QUOTE, at + 1)) {
    let escapes = at - 1;
    while (escapes >= from && bytes[escapes] === BACKSLASH) escapes -= 1;
    if ((at - 1 - escapes) % 2 === 0) return at;
  }
  throw new SyntaxError();
}

/** A member's name, however it is spelled. */
function nameIn(bytes: Buffer, start: number, end: number): string {
  const name = bytes.toString('utf8', start, end);
  return name.includes('\\') ? (JSON.parse(`"${name}"`) as string) : name;
}
