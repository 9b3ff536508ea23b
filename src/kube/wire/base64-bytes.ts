const NONE = -1;
const BACKSLASH = 0x5c;
const SLASH = 0x2f;
const PADDING = 0x3d;
const LOWER_U = 0x75;

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const SIX_BITS = new Int8Array(256).fill(NONE);
for (const alphabet of [`${LETTERS}+/`, `${LETTERS}-_`]) {
  for (let value = 0; value < alphabet.length; value += 1) SIX_BITS[alphabet.charCodeAt(value)] = value;
}

/**
 * Decodes the base64 of a JSON string, from bytes to bytes: Node's decoder needs a string, which cannot be overwritten.
 * Returns how many bytes were written. Skips what is not base64, as Buffer does.
 */
export function decodeBase64(from: Uint8Array, to: Uint8Array): number {
  let at = 0;
  let out = 0;
  for (; at + 4 <= from.length; at += 4) {
    const bits =
      ((SIX_BITS[from[at] as number] as number) << 18) |
      ((SIX_BITS[from[at + 1] as number] as number) << 12) |
      ((SIX_BITS[from[at + 2] as number] as number) << 6) |
      (SIX_BITS[from[at + 3] as number] as number);
    // Padding, an escape, or a character that is not base64.
    if (bits < 0) break;
    to[out] = bits >> 16;
    to[out + 1] = bits >> 8;
    to[out + 2] = bits;
    out += 3;
  }
  return out + decodeSlowly(from.subarray(at), to.subarray(out));
}

/** The same, character by character. */
function decodeSlowly(from: Uint8Array, to: Uint8Array): number {
  let bits = 0;
  let known = 0;
  let out = 0;
  for (const character of unescaped(from)) {
    if (character === PADDING) break;
    const value = SIX_BITS[character] ?? NONE;
    if (value === NONE) continue;
    bits = ((bits << 6) | value) & 0xfff;
    known += 6;
    if (known < 8) continue;
    known -= 8;
    to[out++] = bits >> known;
  }
  return out;
}

/** The characters of a JSON string. Of the escapes with one letter only `\/` is a character of base64; the rest is skipped. */
function* unescaped(from: Uint8Array): Generator<number, void> {
  for (let at = 0; at < from.length; at += 1) {
    const character = from[at] as number;
    if (character !== BACKSLASH) {
      yield character;
      continue;
    }
    at += 1;
    if (from[at] === SLASH) yield SLASH;
    if (from[at] !== LOWER_U) continue;
    yield Number.parseInt(String.fromCharCode(...from.subarray(at + 1, at + 5)), 16);
    at += 4;
  }
}
