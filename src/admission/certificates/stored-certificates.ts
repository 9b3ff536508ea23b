import type { X509Certificate } from 'node:crypto';
import type { DataObject } from '../../api/objects.ts';
import { SECRETS } from '../../api/resources.ts';
import type { Standing, Validity } from '../../domain/admission/certificate-plan.ts';
import type { KubeClient, ObjectRef } from '../../kube/client.ts';
import { unlessAbsent } from '../../kube/kube-error.ts';
import { isAddress } from '../endpoint.ts';
import { certificateIn, type KeyPair, pairProblem, pemBlocks } from './pem.ts';

/** How much earlier a certificate is valid than it was made. */
export const BACKDATED_MS = 3_600_000;

/** What the Secret keeps: the leaf that all replicas serve, and the authorities that are trusted, oldest first. */
export interface Certificates {
  readonly authorities: readonly KeyPair[];
  readonly leaf: KeyPair;
}

/** The same with what it says to whoever plans the next step. */
export interface StoredCertificates extends Certificates {
  readonly bundle: string;
  readonly hosts: readonly string[];
  readonly standing: Standing;
}

/** The certificates in a Secret, or in a few words why they cannot be used. */
export function certificatesIn({ data }: DataObject, hosts: readonly string[]): StoredCertificates | string {
  const [cert, key, bundle, authorityKeys] = FILES.map((name) => text(data?.[name]));
  if (!cert && !key && !bundle && !authorityKeys) return 'it is empty';
  const leaf = { cert: cert ?? '', key: key ?? '' };
  if (pairProblem(leaf)) return 'tls.crt and tls.key are no pair';
  const keys = pemBlocks(authorityKeys ?? '');
  const authorities = pemBlocks(bundle ?? '').map((each, at) => ({ cert: each, key: keys[at] ?? '' }));
  if (authorities.length === 0 || authorities.some(pairProblem)) return 'ca.crt and ca.key are no pairs';
  const certificate = certificateIn(leaf.cert) as X509Certificate;
  const parsed = authorities.map((each) => certificateIn(each.cert) as X509Certificate);
  const by = parsed.findIndex(({ publicKey }) => certificate.verify(publicKey));
  if (by < 0) return 'tls.crt was not signed by ca.crt';
  const standing = {
    authorities: parsed.map(validityOf),
    leaf: { ...validityOf(certificate), by, fits: hosts.every((host) => isFor(certificate, host)) },
  };
  return { authorities, leaf, bundle: bundle ?? '', hosts: hostsIn(certificate), standing };
}

/** The certificates as the data of a Secret. */
export function dataOf({ authorities, leaf }: Certificates): Readonly<Record<string, string>> {
  const all = (part: keyof KeyPair): string => authorities.map((each) => each[part]).join('');
  const texts = [leaf.cert, leaf.key, all('cert'), all('key')];
  return Object.fromEntries(FILES.map((name, at) => [name, Buffer.from(texts[at] ?? '').toString('base64')]));
}

/** What the API server has to trust, as the Secret says it now, whichever replica wrote it. Fails if it says nothing. */
export async function storedBundle(client: Pick<KubeClient, 'get'>, ref: Required<ObjectRef>): Promise<string> {
  const bundle = text((await readSecret(client, ref))?.data?.['ca.crt']);
  if (bundle === '') throw new Error(`Secret ${ref.namespace}/${ref.name} has no certificates yet`);
  return bundle;
}

/** Undefined: there is none. */
export async function readSecret(
  client: Pick<KubeClient, 'get'>,
  ref: ObjectRef,
  signal?: AbortSignal,
): Promise<DataObject | undefined> {
  return await client.get<DataObject>(SECRETS, ref, { signal }).catch(unlessAbsent);
}

const FILES = ['tls.crt', 'tls.key', 'ca.crt', 'ca.key'] as const;

const text = (base64: string | undefined): string => Buffer.from(base64 ?? '', 'base64').toString('utf8');

const validityOf = ({ validFromDate, validToDate }: X509Certificate): Validity => ({
  madeMs: validFromDate.getTime() + BACKDATED_MS,
  notAfterMs: validToDate.getTime(),
});

const isFor = (certificate: X509Certificate, host: string): boolean =>
  (isAddress(host) ? certificate.checkIP(host) : certificate.checkHost(host)) !== undefined;

/** `DNS:a, IP Address:127.0.0.1` */
const hostsIn = ({ subjectAltName }: X509Certificate): readonly string[] =>
  (subjectAltName ?? '').split(', ').map((each) => each.replace(/^[^:]*:/, ''));
