import { createHash, createHmac, createSecretKey, type Hash, type Hmac } from 'node:crypto';
import type { Piece } from '../api/piece.ts';

/** Digests for one installation: what is kept about data is keyed, so nobody can guess it from what we store. */
export interface Digest {
  /** `exact`: keyed and collision-free, for comparing. `mark`: Stakater's SHA-1, for writing. */
  fingerprint(pieces: readonly Piece[]): { readonly exact: string; readonly mark: string };
  /** 20 lower-case hex digits that stand for a text; fit for use in an object's name. */
  text(value: string): string;
}

const EXACT_BYTES = 16;
const TEXT_DIGITS = 20;

export function createDigest(secret: Uint8Array): Digest {
  // Prepared once: from raw bytes every digest would pay four times as much.
  const key = createSecretKey(secret);
  return {
    fingerprint(pieces) {
      const mark = createHash('sha1');
      const exact = createHmac('sha256', key);
      for (const [index, piece] of pieces.entries()) {
        mark.update(index === 0 ? `${piece.key}=` : `;${piece.key}=`);
        digestPiece(piece, mark, exact);
      }
      return { exact: exact.digest().toString('base64url', 0, EXACT_BYTES), mark: mark.digest('hex') };
    },
    text: (value) => createHmac('sha256', key).update(value).digest('hex').slice(0, TEXT_DIGITS),
  };
}

/** SAP pod-reloader's digest of a text. */
export const sha256Hex = (text: string): string => createHash('sha256').update(text).digest('hex');

/** What was digested with one key, digested once more with another. */
export type Carry = Readonly<Record<'exact' | 'text', (value: string) => string>>;

/**
 * Digests of what another key's digests are: what that one left behind is carried over without the data, and who knows
 * that key alone can make none of them.
 */
export function createDigestOver(inner: Digest, secret: Uint8Array): Digest & { readonly carry: Carry } {
  const key = createSecretKey(secret);
  const again = (value: string): Buffer => createHmac('sha256', key).update(value).digest();
  const carry: Carry = {
    exact: (value) => again(value).toString('base64url', 0, EXACT_BYTES),
    text: (value) => again(value).toString('hex').slice(0, TEXT_DIGITS),
  };
  return {
    carry,
    fingerprint(pieces) {
      const { exact, mark } = inner.fingerprint(pieces);
      return { exact: carry.exact(exact), mark };
    },
    text: (value) => carry.text(inner.text(value)),
  };
}

/**
 * The lengths in the header make the encoding unambiguous: no two lists of pieces give the same bytes.
 * Base64 that is none decodes as far as it goes, as Buffer does; the API server lets none through.
 */
function digestPiece({ part, key, value }: Piece, mark: Hash, exact: Hmac): void {
  const encoded = part === 'secret' || part === 'binaryData';
  const bytes = typeof value === 'string' ? Buffer.from(value, encoded ? 'base64' : 'utf8') : viewOf(value);
  exact.update(`${part}:${Buffer.byteLength(key)}:${bytes.length}:${key}`);
  exact.update(bytes);
  if (part === 'binaryData') mark.update(bytes.toString('base64'), 'latin1');
  else mark.update(bytes);
}

/** The same bytes, not copies of them. */
const viewOf = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer => Buffer.from(buffer, byteOffset, byteLength);
