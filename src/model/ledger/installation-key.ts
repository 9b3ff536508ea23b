import { createHash, randomBytes } from 'node:crypto';
import type { DataObject } from '../../api/objects.ts';
import { SECRETS } from '../../api/resources.ts';
import type { SourceId } from '../../domain/ledger/source-id.ts';
import type { KubeClient } from '../../kube/client.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { isTransient } from '../../kube/retry-transient.ts';
import { createDigest, createDigestOver, type Digest } from '../../runtime/digest.ts';
import { FormerKey } from './former-key.ts';

/** How this installation digests, and what of it may be stored. */
export interface Installation {
  readonly digest: Digest;
  /** Names the key: what was digested with another one says nothing to us. */
  readonly keyId: string;
  /** The one key of which that is not true: it was replaced, and what it left behind is carried over. */
  readonly former: FormerKey | undefined;
  readonly mayStore: (id: SourceId) => boolean;
}

export interface KeyReport {
  /** No key can be kept; undefined: our own namespace is not known. */
  keyless(error: KubeError | undefined): void;
  /** A key that could be guessed was replaced, or with an error, could not be. */
  weakKey(bytes: number, error?: KubeError): void;
}

/** The Secret in our own namespace that holds the key. */
export const KEY_SECRET = 'attune-ledger-key';
/** What is shorter than what we make ourselves is damaged, or was never meant to be a key. */
const KEY_BYTES = 32;
/** For data that is no secret, where no key can be kept: any stable one will do. */
const OPEN_KEY = Buffer.from('attune.dev');
const isNoSecret = (id: SourceId): boolean => !id.startsWith('Secret/');

/**
 * The key makes what we store about Secrets useless to whoever tries to guess their content. Where none can be kept,
 * nothing is stored about Secrets at all.
 */
export async function installationKey(
  client: KubeClient,
  { ownNamespace, compat }: { readonly ownNamespace: string; readonly compat: boolean },
  tell: KeyReport,
): Promise<Installation> {
  try {
    if (ownNamespace !== '') {
      const { key, former } = await read(client, ownNamespace, tell);
      const installation = withKey(key, compat, former);
      return key.length < KEY_BYTES ? { ...installation, mayStore: isNoSecret } : installation;
    }
    tell.keyless(undefined);
  } catch (error) {
    if (!KubeError.is(error) || (error.status !== 403 && error.status !== 404)) throw error;
    tell.keyless(error);
  }
  const { digest, keyId } = withKey(OPEN_KEY, compat);
  return { digest, keyId: `open-${keyId}`, former: undefined, mayStore: isNoSecret };
}

/**
 * What a key makes of an installation. The two modes compare data differently, so one cannot read the other's ledger.
 * Digests stay on top of the former key's for good: so a process that dies before everything is rewritten loses nothing.
 */
export function withKey(key: Uint8Array, compat: boolean, former?: Uint8Array): Installation {
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

interface Keys {
  readonly key: Uint8Array;
  readonly former?: Uint8Array;
}

/** The keys that a Secret holds. */
export function keysIn({ data }: DataObject): Keys {
  const key = Buffer.from(data?.['key'] ?? '', 'base64');
  const former = data?.['former'];
  return { key, ...(former !== undefined && key.length >= KEY_BYTES && { former: Buffer.from(former, 'base64') }) };
}

async function read(client: KubeClient, namespace: string, tell: KeyReport): Promise<Keys> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      const secret = await client.get<DataObject>(SECRETS, { namespace, name: KEY_SECRET });
      const keys = keysIn(secret);
      return keys.key.length >= KEY_BYTES ? keys : await replaced(client, secret, keys, tell);
    } catch (error) {
      if (!isOvertaken(error) || attempt > 1) throw error;
      if (error.status === 404) await make(client, namespace);
    }
  }
}

/** It is not there, or another replica was quicker: look again. */
const isOvertaken = (error: unknown): error is KubeError =>
  KubeError.is(error) && (error.status === 404 || error.status === 409);

async function make(client: KubeClient, namespace: string): Promise<void> {
  try {
    const data = { key: randomBytes(KEY_BYTES).toString('base64') };
    const metadata = { name: KEY_SECRET, namespace, labels: { 'app.kubernetes.io/managed-by': 'attune' } };
    await client.create(SECRETS, namespace, { apiVersion: 'v1', kind: 'Secret', metadata, data });
  } catch (error) {
    // Two replicas start at once: the first one's key is the key.
    if (!KubeError.is(error, 'AlreadyExists')) throw error;
  }
}

/** A key that anybody can guess gives place to a good one, and is kept beside it: it protects nothing any more. */
async function replaced(client: KubeClient, secret: DataObject, weak: Keys, tell: KeyReport): Promise<Keys> {
  const { namespace = '' } = secret.metadata;
  const former = Buffer.from(weak.key);
  const key = randomBytes(KEY_BYTES);
  const data = { ...secret.data, key: key.toString('base64'), former: former.toString('base64') };
  try {
    // With the version that was read: of two replicas one succeeds.
    await client.replace(SECRETS, { namespace, name: KEY_SECRET }, { ...secret, data });
  } catch (error) {
    if (!KubeError.is(error) || isTransient(error) || isOvertaken(error)) throw error;
    tell.weakKey(former.length, error);
    return weak;
  }
  tell.weakKey(former.length);
  return { key, former };
}
