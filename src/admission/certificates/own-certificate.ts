import type { DataObject } from '../../api/objects.ts';
import { SECRETS } from '../../api/resources.ts';
import { AUTHORITY_LIVES, type CertificateStep, certificatePlan } from '../../domain/admission/certificate-plan.ts';
import type { KubeClient } from '../../kube/client.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { keepTrying } from '../keep-trying.ts';
import { type CertificateDeps, changeTeller, POLL_MS } from './serving-certificate.ts';
import {
  type Certificates,
  certificatesIn,
  dataOf,
  readSecret,
  type StoredCertificates,
} from './stored-certificates.ts';

export interface OwnCertificateDeps extends CertificateDeps {
  readonly client: Pick<KubeClient, 'get' | 'create' | 'replace' | 'serverNow'>;
  readonly namespace: string;
  /** Of the Secret. */
  readonly name: string;
  /** Names and addresses by which the endpoint is reached. */
  readonly hosts: readonly string[];
  readonly lifeMs: number;
}

// More steps than these are never due at once.
const MOST_WRITES = 4;
// So that one replica does what is due, and the others find it done.
const STAGGER_MS = 2000;

const START = { step: 'start' } as const;

type Making = Exclude<CertificateStep, { readonly step: 'wait' }>;

/**
 * Keeps an authority and a certificate signed by it in a Secret, and follows what the Secret holds, until aborted. Every
 * replica does the same: whoever writes first has written, and the others read it.
 */
export async function ownCertificate(deps: OwnCertificateDeps, signal: AbortSignal): Promise<void> {
  const { client, hosts, lifeMs, clock, log } = deps;
  const tell = changeTeller(deps);
  const serve = ({ leaf, bundle, standing }: StoredCertificates): void =>
    tell({ ...leaf, bundle, notAfterMs: standing.leaf.notAfterMs });

  /** Reads, and writes what is due; gives how long nothing is. */
  const step = async (): Promise<number | undefined> => {
    const secret = await readSecret(client, deps, signal);
    const found = secret && certificatesIn(secret, hosts);
    const stored = typeof found === 'object' ? found : undefined;
    // Also what is about to be replaced: it is better than nothing if that fails.
    if (stored) serve(stored);
    const plan = stored ? certificatePlan(stored.standing, client.serverNow(), lifeMs) : START;
    if (plan.step === 'wait') return plan.untilMs - client.serverNow();
    const made = await make(plan, stored, deps);
    if (await write(made, secret, deps, signal)) sayWhatWasDone(plan, found, deps);
    return undefined;
  };

  const look = async (): Promise<number> => {
    for (let writes = 0; writes < MOST_WRITES; writes += 1) {
      const restMs = await step();
      if (restMs !== undefined) return Math.min(POLL_MS, restMs + Math.random() * STAGGER_MS);
      // What counts is what the Secret holds now, whoever wrote it.
    }
    return POLL_MS;
  };
  await keepTrying(look, { clock, log, explain: (error) => explain(error, deps) }, signal);
}

async function make(
  plan: Making,
  stored: StoredCertificates | undefined,
  { client, hosts, lifeMs }: OwnCertificateDeps,
): Promise<Certificates> {
  const { makeAuthority, makeLeaf } = await import('./make-certificates.ts');
  const nowMs = client.serverNow();
  const notAfterMs = nowMs + lifeMs;
  if (!stored || plan.step !== 'leaf') {
    const authority = await makeAuthority({ nowMs, notAfterMs: nowMs + AUTHORITY_LIVES * lifeMs });
    if (stored && plan.step === 'authority') return { ...stored, authorities: [...stored.authorities, authority] };
    return { authorities: [authority], leaf: await makeLeaf(authority, hosts, { nowMs, notAfterMs }) };
  }
  const { authorities, standing } = stored;
  const signer = authorities[plan.by];
  if (!signer) throw new Error('the plan names an authority that is not there');
  // Replicas of before and after a change of flags may want different hosts: they get one certificate for both.
  const wanted = plan.because === 'hosts' ? [...new Set([...hosts, ...stored.hosts])] : hosts;
  const end = standing.authorities[plan.by]?.notAfterMs ?? notAfterMs;
  const leaf = await makeLeaf(signer, wanted, { nowMs, notAfterMs: Math.min(notAfterMs, end) });
  return { authorities: authorities.slice(plan.keepFrom), leaf };
}

/** False: somebody else wrote, or deleted, it first. */
async function write(
  made: Certificates,
  secret: DataObject | undefined,
  { client, namespace, name }: OwnCertificateDeps,
  signal: AbortSignal,
): Promise<boolean> {
  const data = dataOf(made);
  try {
    if (secret) {
      // With the version that was read.
      await client.replace(SECRETS, { namespace, name }, { ...secret, data: { ...secret.data, ...data } }, { signal });
    } else {
      const metadata = { name, namespace, labels: { 'app.kubernetes.io/managed-by': 'attune' } };
      await client.create(SECRETS, namespace, { apiVersion: 'v1', kind: 'Secret', metadata, data }, { signal });
    }
    return true;
  } catch (error) {
    const isOvertaken = KubeError.is(error, 'Conflict', 'AlreadyExists') || (secret && KubeError.is(error, 'NotFound'));
    if (!isOvertaken) throw error;
    return false;
  }
}

function sayWhatWasDone(
  plan: Making,
  found: StoredCertificates | string | undefined,
  { log, metrics, namespace, name }: OwnCertificateDeps,
): void {
  if (plan.step !== 'leaf') metrics.increment('attune_admission_renewals_total', { what: 'ca' });
  if (plan.step !== 'authority') metrics.increment('attune_admission_renewals_total', { what: 'leaf' });
  const isAmiss = plan.step === 'start' && found !== undefined;
  log[isAmiss ? 'warn' : 'info'](`admission's ${doneText(plan, found)}`, { secret: `${namespace}/${name}` });
}

function doneText(plan: Making, found: StoredCertificates | string | undefined): string {
  if (plan.step === 'authority') return 'next certificate authority was added to those that are trusted';
  if (plan.step === 'leaf') return `certificate was renewed${BECAUSE[plan.because]}`;
  if (found === undefined) return 'certificate authority and certificate were made';
  return `certificates could not be used (${typeof found === 'string' ? found : 'expired'}) and were made anew`;
}

const BECAUSE = { due: '', hosts: ', as the old one was for other hosts', authority: ', by the next authority' };

/** Nothing of the Secret is in an error of the client. */
function explain(error: unknown, { namespace, name }: OwnCertificateDeps): string {
  const what = `admission's certificate cannot be kept in Secret ${namespace}/${name}`;
  const instead = 'or give certificates with --admission-cert-dir';
  if (KubeError.is(error, 'Forbidden')) {
    return `${what}, as this may not be done: ${error.verb} secrets. Allow get, create and update there, ${instead}`;
  }
  if (KubeError.is(error, 'NotFound')) return `${what}, as there is no namespace ${namespace}`;
  return `${what}: ${error instanceof Error ? error.message : String(error)}`;
}
