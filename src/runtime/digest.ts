import { createHash, createHmac, createSecretKey, type Hash, type Hmac } from 'node:crypto';
import type { Piece } from '../api/piece.ts';
import type { SourceRef } from '../api/sources.ts';

/**
 * Digests for one installation. All but the mark are keyed, so nobody without the key can test a guess against what we store.
 *
 * Each method begins its HMAC with other bytes: a text that a user chooses cannot pass for a source's data.
 */
export interface Digest {
  /**
   * `exact`: keyed, for comparing. It covers the source's kind, namespace and name: equal data of two sources look different.
   * `mark`: Stakater's SHA-1 of the data alone, for writing.
   */
  fingerprint(of: SourceRef, pieces: readonly Piece[]): { readonly exact: string; readonly mark: string };
  /** 20 lower-case hex digits that stand for a text; fit for use in an object's name. */
  text(value: string): string;
  /** 64 lower-case hex digits that stand for all sources that a workload lists, by content. */
  configHash(text: string): string;
  /** Whether `configHash` of this very key made it: any other cannot be compared. */
  madeHash(hash: string): boolean;
}

const EXACT_BYTES = 16;
const TEXT_DIGITS = 20;
const HASH_DIGITS = 64;
// The first digits of a config hash name its key.
const KEY_DIGITS = 8;

/** `compares`: sources are equal when their data is, or already when Stakater's hash is, which does not see every difference. */
export function createDigest(secret: Uint8Array, compares: 'data' | 'mark' = 'data'): Digest {
  // Prepared once: from raw bytes every digest would pay four times as much.
  const key = createSecretKey(secret);
  const hmac = (text: string): Hmac => createHmac('sha256', key).update(text);
  const hashKey = hmac(`config-hash-key:${compares}`).digest('hex').slice(0, KEY_DIGITS);
  return {
    fingerprint(of, pieces) {
      const sha1 = createHash('sha1');
      const exact = createHmac('sha256', key);
      digestPieces(pieces, sha1, compares === 'data' ? { exact, head: headOf(of) } : undefined);
      const mark = sha1.digest('hex');
      if (compares === 'mark') exact.update(`${headOf(of)}mark:${mark}`);
      return { exact: exact.digest().toString('base64url', 0, EXACT_BYTES), mark };
    },
    text: (value) => hmac(`text:${value}`).digest('hex').slice(0, TEXT_DIGITS),
    configHash: (text) => `${hashKey}${hmac(`config-hash:${text}`).digest('hex')}`.slice(0, HASH_DIGITS),
    madeHash: (hash) => hash.length === HASH_DIGITS && hash.startsWith(hashKey),
  };
}

/** SAP pod-reloader's digest of a text. */
export const sha256Hex = (text: string): string => createHash('sha256').update(text).digest('hex');

/** What was digested with one key, digested once more with another. */
export type Carry = Readonly<Record<'exact' | 'text', (value: string) => string>>;

/**
 * Digests of what another key's digests are: what that one left behind is carried over without the data, and who knows
 * that key alone can make none of them. Config hashes are not carried over.
 */
export function createDigestOver(
  inner: Digest,
  secret: Uint8Array,
  compares: 'data' | 'mark' = 'data',
): Digest & { readonly carry: Carry } {
  const key = createSecretKey(secret);
  const again = (value: string): Buffer => createHmac('sha256', key).update(value).digest();
  const carry: Carry = {
    exact: (value) => again(value).toString('base64url', 0, EXACT_BYTES),
    text: (value) => again(value).toString('hex').slice(0, TEXT_DIGITS),
  };
  return {
    ...createDigest(secret, compares),
    carry,
    fingerprint(of, pieces) {
      const { exact, mark } = inner.fingerprint(of, pieces);
      return { exact: carry.exact(exact), mark };
    },
    text: (value) => carry.text(inner.text(value)),
  };
}

/** Names a source: no other one, whatever follows, begins with the same bytes. Not by its uid: made anew it is the same. */
const headOf = ({ kind, namespace, name }: SourceRef): string =>
  `${kind}:${Buffer.byteLength(namespace)}:${Buffer.byteLength(name)}:${namespace}${name}`;

/**
 * The lengths in the headers make the encoding unambiguous: no two lists of pieces give the same bytes.
 * Base64 that is none decodes as far as it goes, as Buffer does; the API server lets none through.
 */
function digestPieces(
  pieces: readonly Piece[],
  mark: Hash,
  compared: { readonly exact: Hmac; readonly head: string } | undefined,
): void {
  // A call into the HMAC costs more than the bytes of a head: it goes with the first piece.
  let head = compared?.head ?? '';
  for (const [index, { part, key, value }] of pieces.entries()) {
    const encoded = part === 'secret' || part === 'binaryData';
    const bytes = typeof value === 'string' ? Buffer.from(value, encoded ? 'base64' : 'utf8') : viewOf(value);
    compared?.exact.update(`${head}${part}:${Buffer.byteLength(key)}:${bytes.length}:${key}`);
    compared?.exact.update(bytes);
    head = '';
    mark.update(index === 0 ? `${key}=` : `;${key}=`);
    if (part === 'binaryData') mark.update(bytes.toString('base64'), 'latin1');
    else mark.update(bytes);
  }
  if (head !== '') compared?.exact.update(head);
}

/** The same bytes, not copies of them. */
const viewOf = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer => Buffer.from(buffer, byteOffset, byteLength);
