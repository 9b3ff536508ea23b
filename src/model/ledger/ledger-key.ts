import { createHash } from 'node:crypto';
import type { DataObject } from '../../api/objects.ts';
import type { SourceId } from '../../domain/ledger/source-id.ts';
import { createDigest, createDigestOver, type Digest } from '../../runtime/digest.ts';
import type { ContentHash } from '../config-hash.ts';
import { FormerKey } from './former-key.ts';

/** The key of the ledger's fingerprints: how they are made, and which of them may be stored. */
export interface LedgerKey {
  readonly digest: Digest;
  /** Names the key, and how fingerprints are made with it: those that were made otherwise cannot be compared with ours. */
  readonly keyId: string;
  /** The key that this one has replaced, if any: what was stored with it is converted when it is read. */
  readonly former: FormerKey | undefined;
  /** Whether this source's fingerprint may be stored at all. */
  readonly mayStore: (id: SourceId) => boolean;
  /** Makes config hashes by content. Undefined where the key is no secret: then they go by version, and tell no content. */
  readonly contentHash: ContentHash | undefined;
}

/** The Secret in Attune's own namespace that holds the key. */
export const KEY_SECRET = 'attune-ledger-key';
/** A shorter key than those that Attune makes is damaged, or was never meant to be one. */
export const KEY_BYTES = 32;
// With another number everything that was stored before is of another key, so that nothing is compared with it.
const FORMAT = 2;

/**
 * The two modes compare data differently, so one cannot read the other's ledger. Fingerprints are made with the former key
 * first and then with the present one, for good: a process that dies before everything is rewritten loses nothing.
 */
export function withKey(key: Uint8Array, compat: boolean, former?: Uint8Array): LedgerKey {
  const hash = createHash('sha256').update(`fingerprints ${FORMAT}:`).update(key);
  if (former) hash.update('/former:').update(former);
  const id = hash.digest('hex').slice(0, 8);
  const keyId = compat ? `${id}-compat` : id;
  const isSecret = key.length >= KEY_BYTES;
  const mayStore = isSecret ? () => true : isNoSecret;
  const compares = compat ? 'mark' : 'data';
  if (!former) {
    const digest = createDigest(key, compares);
    return { digest, keyId, former: undefined, mayStore, contentHash: isSecret ? digest : undefined };
  }
  const before = withKey(former, compat);
  const digest = createDigestOver(before.digest, key, compares);
  const formerKey = new FormerKey({ keyId: before.keyId, presentId: keyId, ...digest.carry });
  return { digest, keyId, former: formerKey, mayStore, contentHash: isSecret ? digest : undefined };
}

const isNoSecret = (id: SourceId): boolean => !id.startsWith('Secret/');

export interface StoredKeys {
  readonly key: Uint8Array;
  readonly former?: Uint8Array;
}

export function keysIn({ data }: DataObject): StoredKeys {
  const key = Buffer.from(data?.['key'] ?? '', 'base64');
  const former = data?.['former'];
  return { key, ...(former !== undefined && key.length >= KEY_BYTES && { former: Buffer.from(former, 'base64') }) };
}
