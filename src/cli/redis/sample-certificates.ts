import '../../admission/certificates/reflect-metadata.ts';
import { createPrivateKey, KeyObject, randomBytes, type webcrypto } from 'node:crypto';
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const HOUR_MS = 3_600_000;
const LIFE_MS = 90 * 24 * HOUR_MS;

/** Both PEM. */
export interface SamplePair {
  readonly cert: string;
  readonly key: string;
}

/** An authority for a Redis to try things on. */
export async function sampleAuthority(nowMs: number): Promise<SamplePair> {
  const keys = await crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    ...validity(nowMs),
    name: [{ CN: ['Attune sandbox'] }],
    keys,
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
    ],
  });
  return pair(certificate, keys.privateKey);
}

/** A certificate for these names. A replica shows it to its primary, so that it is one of a client too. */
export async function sampleLeaf(authority: SamplePair, hosts: readonly string[], nowMs: number): Promise<SamplePair> {
  const issuer = new X509Certificate(authority.cert);
  const keys = await crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const certificate = await X509CertificateGenerator.create({
    ...validity(nowMs),
    subject: [{ CN: [hosts[0] ?? ''] }],
    issuer: issuer.subjectName,
    publicKey: keys.publicKey,
    signingKey: createPrivateKey(authority.key).toCryptoKey(ALGORITHM, false, ['sign']),
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth, ExtendedKeyUsage.clientAuth]),
      new SubjectAlternativeNameExtension(hosts.map((value) => ({ type: 'dns', value }))),
    ],
  });
  return pair(certificate, keys.privateKey);
}

const validity = (nowMs: number) => ({
  serialNumber: `01${randomBytes(15).toString('hex')}`,
  notBefore: new Date(nowMs - HOUR_MS),
  notAfter: new Date(nowMs + LIFE_MS),
  signingAlgorithm: ALGORITHM,
});

const pair = (certificate: X509Certificate, key: webcrypto.CryptoKey): SamplePair => ({
  cert: `${certificate.toString('pem')}\n`,
  key: KeyObject.from(key).export({ type: 'pkcs8', format: 'pem' }).toString(),
});
