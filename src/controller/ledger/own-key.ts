import { randomBytes } from 'node:crypto';
import type { DataObject } from '../../api/objects.ts';
import { SECRETS } from '../../api/resources.ts';
import type { ControllerOptions } from '../../domain/controller-options.ts';
import type { KubeClient } from '../../kube/client.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { isTransient } from '../../kube/retry-transient.ts';
import {
  KEY_BYTES,
  KEY_SECRET,
  keysIn,
  type LedgerKey,
  type StoredKeys,
  withKey,
} from '../../model/ledger/ledger-key.ts';
import type { LedgerReport } from '../report/ledger-report.ts';

export type KeyReport = Pick<LedgerReport, 'keyless' | 'weakKey'>;

/** For data that is no secret, where no key can be kept: any stable one will do. */
const OPEN_KEY = Buffer.from('attune.dev');

/**
 * Reads our key, and creates or replaces it where that is needed. It makes what we store about Secrets useless to whoever
 * tries to guess their content; where none can be kept, nothing is stored about Secrets at all, and config hashes go by
 * version.
 */
export async function ownKey(
  client: KubeClient,
  { ownNamespace, compat }: Pick<ControllerOptions, 'ownNamespace' | 'compat'>,
  report: KeyReport,
  signal: AbortSignal,
): Promise<LedgerKey> {
  try {
    if (ownNamespace !== '') {
      const { key, former } = await storedKeys(client, ownNamespace, report, signal);
      return withKey(key, compat, former);
    }
    report.keyless(undefined);
  } catch (error) {
    if (!KubeError.is(error) || (error.status !== 403 && error.status !== 404)) throw error;
    report.keyless(error);
  }
  const open = withKey(OPEN_KEY, compat);
  return { ...open, keyId: `open-${open.keyId}` };
}

async function storedKeys(
  client: KubeClient,
  namespace: string,
  report: KeyReport,
  signal: AbortSignal,
): Promise<StoredKeys> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      const secret = await client.get<DataObject>(SECRETS, { namespace, name: KEY_SECRET }, { signal });
      const keys = keysIn(secret);
      return keys.key.length >= KEY_BYTES ? keys : await replaceWeak(client, secret, report, signal);
    } catch (error) {
      if (!isOvertaken(error) || attempt > 1) throw error;
      if (error.status === 404) await create(client, namespace, signal);
    }
  }
}

/** The Secret is not there, or another replica wrote it first: read again. */
const isOvertaken = (error: unknown): error is KubeError =>
  KubeError.is(error) && (error.status === 404 || error.status === 409);

async function create(client: KubeClient, namespace: string, signal: AbortSignal): Promise<void> {
  try {
    const data = { key: randomBytes(KEY_BYTES).toString('base64') };
    const metadata = { name: KEY_SECRET, namespace, labels: { 'app.kubernetes.io/managed-by': 'attune' } };
    await client.create(SECRETS, namespace, { apiVersion: 'v1', kind: 'Secret', metadata, data }, { signal });
  } catch (error) {
    // Two replicas start at once: the first one's key is the key.
    if (!KubeError.is(error, 'AlreadyExists')) throw error;
  }
}

/** A key that anybody can guess is replaced by a good one, and stays beside it: it protects nothing any more. */
async function replaceWeak(
  client: KubeClient,
  secret: DataObject,
  report: KeyReport,
  signal: AbortSignal,
): Promise<StoredKeys> {
  const { namespace = '' } = secret.metadata;
  const weak = keysIn(secret);
  const former = Buffer.from(weak.key);
  const key = randomBytes(KEY_BYTES);
  const data = { ...secret.data, key: key.toString('base64'), former: former.toString('base64') };
  try {
    // With the version that was read: of two replicas one succeeds.
    await client.replace(SECRETS, { namespace, name: KEY_SECRET }, { ...secret, data }, { signal });
  } catch (error) {
    if (!KubeError.is(error) || isTransient(error) || isOvertaken(error)) throw error;
    report.weakKey(former.length, error);
    return weak;
  }
  report.weakKey(former.length);
  return { key, former };
}
