import { decodeBase64 } from './base64-bytes.ts';

/** A parsed answer; the data of Secrets in it are bytes, which `erase` overwrites. */
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

/**
 * What the value being read is: `object`, a Secret, or a list or watch event that holds some; its `metadata`; `data`, which
 * must not become a string; `annotations`, in which kubectl keeps a copy of the data.
 */
type Context = 'object' | 'metadata' | 'data' | 'annotations' | 'other';

const MEMBERS: Readonly<Record<Context, (name: string) => Context>> = {
  object: (name) => WITHIN_OBJECT.get(name) ?? 'other',
  metadata: (name) => (name === 'annotations' ? 'annotations' : 'other'),
  data: () => 'data',
  annotations: () => 'annotations',
  other: () => 'other',
};
// `object` is the member of a watch event, `items` that of a list.
const WITHIN_OBJECT: ReadonlyMap<string, Context> = new Map([
  ['object', 'object'],
  ['items', 'object'],
  ['metadata', 'metadata'],
  ['data', 'data'],
  ['stringData', 'data'],
]);
// Annotations that we read are short flags; kubectl's copy of the manifest, with the data in it, is longer.
const MAX_ANNOTATION_BYTES = 16;
// Up to here a loop finds the end of a string faster than Buffer.indexOf.
const SHORT_STRING_BYTES = 64;

/**
 * Parses an answer with Secrets without making a string of their data: V8 does not overwrite the memory of a string that it
 * frees, so a memory dump would still show it. Undefined for what is not JSON.
 */
export function parseSecrets(bytes: Buffer): Erasable<unknown> | undefined {
  try {
    const scanner = new Scanner(bytes);
    scanner.value('object');
    const value: unknown = JSON.parse(scanner.text());
    const { values, erase } = decoded(bytes, scanner.data);
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
  // An ArrayBuffer of its own: not Node's shared pool, and not V8's heap, which leaves copies when it moves objects.
  const all = Buffer.from(new ArrayBuffer(spans.reduce((sum, { start, end }) => sum + end - start, 0)));
  let at = 0;
  const values = spans.map(({ start, end }) => {
    const length = decodeBase64(bytes.subarray(start, end), all.subarray(at));
    at += length;
    return all.subarray(at - length, at);
  });
  return { values, erase: () => void all.fill(0) };
}

interface SecretHolder {
  readonly data?: Record<string, unknown> | null;
  readonly object?: SecretHolder | null;
  readonly items?: readonly (SecretHolder | null)[] | null;
}

/** Replaces the numbers that stand in the parsed data by the bytes that they stand for. */
function fill(value: unknown, values: readonly Buffer[]): void {
  const { data, object, items } = (value ?? {}) as SecretHolder;
  // All strings there are such numbers.
  for (const key in data) if (typeof data[key] === 'string') data[key] = values[Number(data[key])];
  if (object) fill(object, values);
  if (Array.isArray(items)) for (const item of items) fill(item, values);
}

/** Goes through the bytes once, to find the data. Does not check the JSON any further than it needs to: JSON.parse does. */
class Scanner {
  /** Where the data are; in the text each is replaced by its number in this list. */
  readonly data: Span[] = [];
  readonly #bytes: Buffer;
  #at = 0;
  #text = '';
  #copied = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  text(): string {
    return this.#text + this.#bytes.toString('utf8', this.#copied);
  }

  value(context: Context): void {
    const first = this.#next();
    if (first === QUOTE) this.#string(context);
    else if (first === OPEN_BRACE && context !== 'other') this.#members(context);
    else if (first === OPEN_BRACKET && context !== 'other') this.#elements(context);
    else if (first === OPEN_BRACE || first === OPEN_BRACKET) this.#skip();
    else this.#skipLiteral();
  }

  #members(context: Context): void {
    this.#at += 1;
    for (let next = this.#next(); next !== CLOSE_BRACE; next = this.#next()) {
      if (next === COMMA) {
        this.#at += 1;
        continue;
      }
      if (next !== QUOTE) throw new SyntaxError();
      const start = this.#at + 1;
      this.#skipString();
      const member = MEMBERS[context](memberName(this.#bytes, start, this.#at - 1));
      this.#next();
      // The colon.
      this.#at += 1;
      this.value(member);
    }
    this.#at += 1;
  }

  #elements(context: Context): void {
    this.#at += 1;
    for (let next = this.#next(); next !== CLOSE_BRACKET; next = this.#next()) {
      if (next === COMMA) this.#at += 1;
      else this.value(context);
    }
    this.#at += 1;
  }

  #string(context: Context): void {
    const start = this.#at + 1;
    this.#skipString();
    const end = this.#at - 1;
    if (context === 'data') this.#replace(start, end, `"${this.data.push({ start, end }) - 1}"`);
    else if (context === 'annotations' && end - start > MAX_ANNOTATION_BYTES) this.#replace(start, end, '""');
  }

  /** Puts something else into the text in the place of a string. */
  #replace(start: number, end: number, instead: string): void {
    this.#text += this.#bytes.toString('utf8', this.#copied, start - 1) + instead;
    this.#copied = end + 1;
  }

  /** Moves to the next byte that is not white space; throws at the end. */
  #next(): number {
    const bytes = this.#bytes;
    let at = this.#at;
    while (at < bytes.length && (bytes[at] as number) <= SPACE) at += 1;
    this.#at = at;
    if (at >= bytes.length) throw new SyntaxError();
    return bytes[at] as number;
  }

  /** Skips an object or a list that holds no data. */
  #skip(): void {
    const bytes = this.#bytes;
    let at = this.#at;
    let depth = 0;
    for (; at < bytes.length; at += 1) {
      const byte = bytes[at] as number;
      if (byte === QUOTE) at = endOfString(bytes, at);
      // Bit 0x20 is the only difference between [ and {, and between ] and }.
      else if ((byte | 0x20) === OPEN_BRACE) depth += 1;
      else if ((byte | 0x20) === CLOSE_BRACE && --depth === 0) break;
    }
    if (depth > 0) throw new SyntaxError();
    this.#at = at + 1;
  }

  /** Skips a number, true, false or null. */
  #skipLiteral(): void {
    const start = this.#at;
    for (let byte = this.#bytes[this.#at]; byte !== undefined; byte = this.#bytes[this.#at]) {
      if (byte === COMMA || byte === CLOSE_BRACE || byte === CLOSE_BRACKET || byte <= SPACE) break;
      this.#at += 1;
    }
    if (this.#at === start) throw new SyntaxError();
  }

  #skipString(): void {
    this.#at = endOfString(this.#bytes, this.#at) + 1;
  }
}

/** Where the closing quote is. */
function endOfString(bytes: Buffer, opening: number): number {
  let at = opening + 1;
  for (const near = Math.min(bytes.length, at + SHORT_STRING_BYTES); at < near; at += 1) {
    const byte = bytes[at] as number;
    if (byte === QUOTE) return at;
    if (byte === BACKSLASH) at += 1;
  }
  return endOfLongString(bytes, at);
}

/** The same for a long string: Buffer.indexOf is slow to call, but fast over many bytes. */
function endOfLongString(bytes: Buffer, from: number): number {
  for (let at = bytes.indexOf(QUOTE, from); at >= 0; at = bytes.indexOf(QUOTE, at + 1)) {
    let escapes = at - 1;
    while (escapes >= from && bytes[escapes] === BACKSLASH) escapes -= 1;
    if ((at - 1 - escapes) % 2 === 0) return at;
  }
  throw new SyntaxError();
}

/** A member's name, with its escapes resolved. */
function memberName(bytes: Buffer, start: number, end: number): string {
  const name = bytes.toString('utf8', start, end);
  return name.includes('\\') ? (JSON.parse(`"${name}"`) as string) : name;
}
