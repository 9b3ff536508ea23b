import { createHash } from 'node:crypto';
import type { DataObject } from '../../api/objects.ts';
import type { SourceId } from '../../domain/ledger/source-id.ts';
import { createDigest, createDigestOver, type Digest } from '../../runtime/digest.ts';
import { FormerKey } from './former-key.ts';

/** The key of the ledger's fingerprints: how they are made, and which of them may be stored. */
export interface LedgerKey {
  readonly digest: Digest;
  /** Names the key: fingerprints that were made with another key cannot be compared with ours. */
  readonly keyId: string;
  /** The key that this one has replaced, if any: what was stored with it is converted when it is read. */
  readonly former: FormerKey | undefined;
  /** Whether this source's fingerprint may be stored at all. */
  readonly mayStore: (id: SourceId) => boolean;
}

/** The Secret in Attune's own namespace that holds the key. */
export const KEY_SECRET = 'attune-ledger-key';
/** A shorter key than those that Attune makes is damaged, or was never meant to be one. */
export const KEY_BYTES = 32;

/**
 * The two modes compare data differently, so one cannot read the other's ledger. Fingerprints are made with the former key
 * first and then with the present one, for good: a process that dies before everything is rewritten loses nothing.
 */
export function withKey(key: Uint8Array, compat: boolean, former?: Uint8Array): LedgerKey {
  const hash = createHash('sha256').update(key);
  if (former) hash.update('/former:').update(former);
  const id = hash.digest('hex').slice(0, 8);
  const keyId = compat ? `${id}-compat` : id;
  const mayStore = () => true;
  if (!former) return { digest: createDigest(key), keyId, former: undefined, mayStore };
  const before = withKey(former, compat);
  const digest = createDigestOver(before.digest, key);
  const { exact, text } = digest.carry;
  const formerKey = new FormerKey({ keyId: before.keyId, presentId: keyId, applied: compat ? text : exact, text });
  return { digest, keyId, former: formerKey, mayStore };
}

export interface StoredKeys {
  readonly key: Uint8Array;
  readonly former?: Uint8Array;
}

export function keysIn({ data }: DataObject): StoredKeys {
  const key = Buffer.from(data?.['key'] ?? '', 'base64');
  const former = data?.['former'];
  return { key, ...(former !== undefined && key.length >= KEY_BYTES && { former: Buffer.from(former, 'base64') }) };
}
