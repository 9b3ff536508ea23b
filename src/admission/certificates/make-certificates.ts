import './reflect-metadata.ts';
import { createPrivateKey, KeyObject, randomBytes, type webcrypto } from 'node:crypto';
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  type Extension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';
import { isAddress } from '../endpoint.ts';
import type { KeyPair } from './pem.ts';
import { BACKDATED_MS } from './stored-certificates.ts';

// Loaded only by whoever makes a certificate: the package is large, and to read one Node is enough.

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

/** The times between which a certificate is valid; whole seconds, as X.509 has no others. */
interface Times {
  readonly nowMs: number;
  readonly notAfterMs: number;
}

interface Wanted extends Times {
  /** What it is called. */
  readonly name?: string;
}

interface WantedLeaf extends Wanted {
  /** Whoever serves with it shows it to other servers too. */
  readonly isForClients?: boolean;
}

const NAME = 'Attune admission';

/** A certificate authority. No two have the same name, so that a bundle may hold several. */
export async function makeAuthority({ name = NAME, ...times }: Wanted): Promise<KeyPair> {
  const keys = await crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    ...validity(times),
    name: [{ CN: [`${name} ${new Date(times.nowMs).toISOString()}`] }],
    keys,
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { cert: pem(certificate), key: keyText(keys.privateKey) };
}

/** A certificate for these hosts, names or addresses, signed by the authority. */
export async function makeLeaf(
  authority: KeyPair,
  hosts: readonly string[],
  { name = NAME, isForClients = false, ...times }: WantedLeaf,
): Promise<KeyPair> {
  const issuer = new X509Certificate(authority.cert);
  const keys = await crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const extensions: Extension[] = [
    new BasicConstraintsExtension(false, undefined, true),
    new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
    new ExtendedKeyUsageExtension([
      ExtendedKeyUsage.serverAuth,
      ...(isForClients ? [ExtendedKeyUsage.clientAuth] : []),
    ]),
    new SubjectAlternativeNameExtension(hosts.map((value) => ({ type: isAddress(value) ? 'ip' : 'dns', value }))),
    await SubjectKeyIdentifierExtension.create(keys.publicKey),
    await AuthorityKeyIdentifierExtension.create(await issuer.publicKey.export()),
  ];
  const certificate = await X509CertificateGenerator.create({
    ...validity(times),
    subject: [{ CN: [name] }],
    issuer: issuer.subjectName,
    publicKey: keys.publicKey,
    signingKey: createPrivateKey(authority.key).toCryptoKey(ALGORITHM, false, ['sign']),
    extensions,
  });
  return { cert: pem(certificate), key: keyText(keys.privateKey) };
}

/** Valid since an hour ago: a caller whose clock is behind trusts it too. */
const validity = ({ nowMs, notAfterMs }: Times) => ({
  serialNumber: `01${randomBytes(15).toString('hex')}`,
  notBefore: new Date(Math.ceil(nowMs / 1000) * 1000 - BACKDATED_MS),
  notAfter: new Date(Math.ceil(notAfterMs / 1000) * 1000),
  signingAlgorithm: ALGORITHM,
});

const pem = (certificate: X509Certificate): string => `${certificate.toString('pem')}\n`;

const keyText = (key: webcrypto.CryptoKey): string =>
  KeyObject.from(key).export({ type: 'pkcs8', format: 'pem' }).toString();
