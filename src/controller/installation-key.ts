import { createHash, randomBytes } from 'node:crypto';
import type { DataObject } from '../api/objects.ts';
import { SECRETS } from '../api/resources.ts';
import type { SourceId } from '../domain/ledger.ts';
import type { KubeClient } from '../kube/client.ts';
import { KubeError } from '../kube/kube-error.ts';
import { createDigest, type Digest } from '../runtime/digest.ts';

/** How this installation digests, and what of it may be stored. */
export interface Installation {
  readonly digest: Digest;
  /** Names the key: what was digested with another one says nothing to us. */
  readonly keyId: string;
  readonly mayStore: (id: SourceId) => boolean;
}

/** The Secret in our own namespace that holds the key. */
export const KEY_SECRET = 'attune-ledger-key';
/** For data that is no secret, where no key can be kept: any stable one will do. */
const OPEN_KEY = Buffer.from('attune.dev');

/**
 * The key makes what we store about Secrets useless to whoever tries to guess their content. Where none can be kept,
 * nothing is stored about Secrets at all.
 */
export async function installationKey(
  client: KubeClient,
  { ownNamespace, compat }: { readonly ownNamespace: string; readonly compat: boolean },
  unavailable: (error: KubeError | undefined) => void,
): Promise<Installation> {
  try {
    if (ownNamespace !== '') return withKey(await read(client, ownNamespace), compat);
    unavailable(undefined);
  } catch (error) {
    if (!KubeError.is(error) || (error.status !== 403 && error.status !== 404)) throw error;
    unavailable(error);
  }
  const { digest, keyId } = withKey(OPEN_KEY, compat);
  return { digest, keyId: `open-${keyId}`, mayStore: (id) => !id.startsWith('Secret/') };
}

/** What a key makes of an installation. The two modes compare data differently, so one cannot read the other's ledger. */
export function withKey(key: Uint8Array, compat: boolean): Installation {
  const id = createHash('sha256').update(key).digest('hex').slice(0, 8);
  return { digest: createDigest(key), keyId: compat ? `${id}-compat` : id, mayStore: () => true };
}

async function read(client: KubeClient, namespace: string): Promise<Uint8Array> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      const secret = await client.get<DataObject>(SECRETS, { namespace, name: KEY_SECRET });
      return Buffer.from(secret.data?.['key'] ?? '', 'base64');
    } catch (error) {
      if (!KubeError.is(error) || error.status !== 404 || attempt > 1) throw error;
    }
    try {
      const data = { key: randomBytes(32).toString('base64') };
      const metadata = { name: KEY_SECRET, namespace, labels: { 'app.kubernetes.io/managed-by': 'attune' } };
      await client.create(SECRETS, namespace, { apiVersion: 'v1', kind: 'Secret', metadata, data });
    } catch (error) {
      // Two replicas start at once: the first one's key is the key.
      if (!KubeError.is(error, 'AlreadyExists')) throw error;
    }
  }
}
