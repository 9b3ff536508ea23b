import '../../src/admission/certificates/reflect-metadata.ts';
import { createPrivateKey, KeyObject, X509Certificate as NodeCertificate, randomBytes } from 'node:crypto';
import { mkdir, readlink, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { join } from 'node:path';
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

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const DAY_MS = 86_400_000;

/** A certificate and its key, both PEM. Of a leaf, `cert` also holds the intermediates up to the authority. */
export interface TestPair {
  readonly cert: string;
  readonly key: string;
  /** SHA-256 of the (first) certificate, 64 lower-case hex digits. */
  readonly fingerprint: string;
}

/** An authority with what a leaf of it has to send along: '' for a root. */
export interface TestAuthority extends TestPair {
  readonly chain: string;
}

interface Validity {
  /** Milliseconds since the epoch; by default an hour ago. */
  readonly fromMs?: number;
  /** By default in 90 days. */
  readonly untilMs?: number;
}

export interface AuthorityOptions extends Validity {
  readonly name?: string;
  /** Has the same key: an authority that was renewed. */
  readonly like?: TestPair;
}

/** A root, its own authority. No two have the same name unless one is given. */
export async function makeRedisAuthority(options: AuthorityOptions = {}): Promise<TestAuthority> {
  const keys = options.like ? await keysOf(options.like) : await newKeys();
  const certificate = await X509CertificateGenerator.createSelfSigned({
    ...validity(options),
    name: [{ CN: [options.name ?? `Test authority ${randomBytes(4).toString('hex')}`] }],
    keys,
    extensions: await authorityExtensions(keys.publicKey),
  });
  return { ...pair(certificate, keys.privateKey), chain: '' };
}

/** An authority below another one; its leaves send it along. */
export async function makeRedisIntermediate(above: TestAuthority, options: Validity = {}): Promise<TestAuthority> {
  const keys = await newKeys();
  const name = `Test intermediate ${randomBytes(4).toString('hex')}`;
  const made = await signed(above, { name, publicKey: keys.publicKey, options }, [
    ...(await authorityExtensions(keys.publicKey)),
  ]);
  const certificate = pair(made, keys.privateKey);
  return { ...certificate, chain: `${certificate.cert}${above.chain}` };
}

export interface LeafOptions extends Validity {
  /** Names or addresses; by default 127.0.0.1. */
  readonly hosts?: readonly string[];
  /** What it may be used for; by default as server and as client. Empty: the certificate does not say. */
  readonly usages?: readonly ('server' | 'client')[];
  /** The certificate does not say what its key may be used for. */
  readonly withoutKeyUsage?: boolean;
}

/** A certificate for a Redis. */
export async function makeRedisLeaf(authority: TestAuthority, options: LeafOptions = {}): Promise<TestPair> {
  const keys = await newKeys();
  const usages = options.usages ?? ['server', 'client'];
  const extensions: Extension[] = [
    new BasicConstraintsExtension(false, undefined, true),
    ...(options.withoutKeyUsage ? [] : [new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true)]),
    new SubjectAlternativeNameExtension(
      (options.hosts ?? ['127.0.0.1']).map((value) => ({ type: isIP(value) ? 'ip' : 'dns', value })),
    ),
    await SubjectKeyIdentifierExtension.create(keys.publicKey),
  ];
  if (usages.length > 0) {
    const named = { server: ExtendedKeyUsage.serverAuth, client: ExtendedKeyUsage.clientAuth };
    extensions.push(new ExtendedKeyUsageExtension(usages.map((usage) => named[usage])));
  }
  const made = await signed(authority, { name: 'Test redis', publicKey: keys.publicKey, options }, extensions);
  const leaf = pair(made, keys.privateKey);
  return { ...leaf, cert: `${leaf.cert}${authority.chain}` };
}

/** The three files of a `/tls` folder; one that is not given is missing. */
export interface TlsFiles {
  readonly 'tls.crt'?: string | undefined;
  readonly 'tls.key'?: string | undefined;
  readonly 'ca.crt'?: string | undefined;
}

/** The files for a leaf and the authorities that are to be trusted. */
export const tlsFiles = (leaf: TestPair, ...authorities: readonly TestPair[]): Record<keyof TlsFiles, string> => ({
  'tls.crt': leaf.cert,
  'tls.key': leaf.key,
  'ca.crt': authorities.map(({ cert }) => cert).join(''),
});

/** Brings the files into a folder as the kubelet does: a new folder, then `..data` is swapped in one step. */
export async function mountTls(root: string, files: TlsFiles): Promise<void> {
  const name = `..${randomBytes(6).toString('hex')}`;
  const before = await readlink(join(root, '..data')).catch(() => undefined);
  await mkdir(join(root, name), { recursive: true });
  for (const [file, content] of Object.entries(files)) {
    if (content !== undefined) await writeFile(join(root, name, file), content);
  }
  await symlink(name, join(root, '..data_tmp'));
  await rename(join(root, '..data_tmp'), join(root, '..data'));
  for (const file of ['tls.crt', 'tls.key', 'ca.crt']) {
    await symlink(join('..data', file), join(root, file)).catch(() => undefined);
  }
  if (before) await rm(join(root, before), { recursive: true, force: true });
}

const newKeys = () => crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);

async function keysOf({ cert, key }: TestPair): Promise<Keys> {
  const publicKey = new NodeCertificate(cert).publicKey.toCryptoKey(ALGORITHM, true, ['verify']);
  return { publicKey, privateKey: createPrivateKey(key).toCryptoKey(ALGORITHM, true, ['sign']) };
}

type Keys = Awaited<ReturnType<typeof newKeys>>;

const authorityExtensions = async (publicKey: Keys['publicKey']): Promise<Extension[]> => [
  new BasicConstraintsExtension(true, undefined, true),
  new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
  await SubjectKeyIdentifierExtension.create(publicKey),
];

interface Subject {
  readonly name: string;
  readonly publicKey: Keys['publicKey'];
  readonly options: Validity;
}

async function signed(above: TestPair, subject: Subject, extensions: readonly Extension[]): Promise<X509Certificate> {
  const issuer = new X509Certificate(above.cert);
  return await X509CertificateGenerator.create({
    ...validity(subject.options),
    subject: [{ CN: [subject.name] }],
    issuer: issuer.subjectName,
    publicKey: subject.publicKey,
    signingKey: createPrivateKey(above.key).toCryptoKey(ALGORITHM, false, ['sign']),
    extensions: [...extensions, await AuthorityKeyIdentifierExtension.create(await issuer.publicKey.export())],
  });
}

/** Whole seconds, as X.509 has no others. */
const validity = ({ fromMs = Date.now() - 3_600_000, untilMs = Date.now() + 90 * DAY_MS }: Validity) => ({
  serialNumber: `01${randomBytes(15).toString('hex')}`,
  notBefore: new Date(Math.floor(fromMs / 1000) * 1000),
  notAfter: new Date(Math.floor(untilMs / 1000) * 1000),
  signingAlgorithm: ALGORITHM,
});

function pair(certificate: X509Certificate, privateKey: Keys['privateKey']): TestPair {
  const cert = `${certificate.toString('pem')}\n`;
  return {
    cert,
    key: KeyObject.from(privateKey).export({ type: 'pkcs8', format: 'pem' }).toString(),
    fingerprint: new NodeCertificate(cert).fingerprint256.replaceAll(':', '').toLowerCase(),
  };
}
