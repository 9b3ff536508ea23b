import { createHash, createPrivateKey, type KeyObject, type X509Certificate } from 'node:crypto';
import { join } from 'node:path';
import type { Problem } from '../../../../../domain/redis/cluster-view.ts';
import type { Offer } from '../../../../../domain/redis/trust/rotation.ts';
import type { Validity } from '../../../../../domain/redis/trust/validity.ts';
import type { Snapshot } from '../../../../files/snapshot.ts';
import {
  certificatesIn,
  chainOf,
  fingerprintOf,
  isForClients,
  isForServers,
  issuerOf,
  subjectOf,
} from './certificates.ts';

/** The cure for a certificate with too few usages. */
export const USAGES = 'issue it with the usages "server auth" and "client auth"';

export const TLS_FILES = ['tls.crt', 'tls.key', 'ca.crt'] as const;

/** Certificates that were found good, apart from the time. The private key is not kept. */
export interface Material extends Offer {
  readonly leaf: string;
  /** The leaf, then intermediates. */
  readonly certificates: readonly X509Certificate[];
  readonly roots: readonly X509Certificate[];
  readonly endsMs: number;
  /** Everything from the leaf up to its root: each has to be valid. */
  readonly times: readonly Validity[];
  /** Whether the leaf may be shown to another Redis, as every replica does. */
  readonly isForClients: boolean;
}

/** What the three files hold: material, or what is wrong with them. */
export type FilesRead = { readonly content: string } & (
  | { readonly material: Material }
  | { readonly material?: undefined; readonly problems: readonly Problem[] }
);

/** Stands for the content of the three files. */
export function contentOf(files: Snapshot): string {
  const hash = createHash('sha256');
  for (const name of TLS_FILES) {
    const file = files.get(name);
    hash.update(`${name}:${file.kind}:${file.kind === 'bytes' ? file.bytes.length : 0}:`);
    if (file.kind === 'bytes') hash.update(file.bytes);
  }
  return hash.digest('hex');
}

/** The private key of the mounted files; undefined if there is none that can be used. */
export function keyIn(files: Snapshot): KeyObject | undefined {
  const file = files.get('tls.key');
  try {
    return file.kind === 'bytes' ? createPrivateKey(file.bytes) : undefined;
  } catch {
    return undefined;
  }
}

/** Reads and checks the three files; everything that is wrong is told at once, and nothing of a key. */
export function readMaterial(files: Snapshot): FilesRead {
  const content = contentOf(files);
  const problems: Problem[] = [];
  const tell = (name: string, what: string): void => void problems.push({ where: join(files.root, name), what });
  const chain = certificatesOf('tls.crt', files, tell);
  const roots = certificatesOf('ca.crt', files, tell);
  const key = privateKeyOf(files, tell);
  const [leaf] = chain;
  checkAuthorities(roots, tell);
  if (leaf && key) checkKey(chain, key, tell);
  if (leaf) checkUsage(leaf, tell);
  const path = leaf && roots.length > 0 ? chainOf(leaf, chain.slice(1), roots) : undefined;
  if (leaf && roots.length > 0 && !path) {
    const cure = 'put the root into ca.crt, and intermediates behind the certificate in tls.crt';
    tell('tls.crt', `leads to no root in ca.crt; it was signed by ${issuerOf(leaf)}: ${cure}`);
  }
  const root = path?.at(-1);
  if (problems.length > 0 || !leaf || !root || !path) return { content, problems };
  return { content, material: materialOf({ leaf, root, path, chain, roots }) };
}

interface Checked {
  readonly leaf: X509Certificate;
  readonly root: X509Certificate;
  readonly path: readonly X509Certificate[];
  readonly chain: readonly X509Certificate[];
  readonly roots: readonly X509Certificate[];
}

function materialOf({ leaf, root, path, chain, roots }: Checked): Material {
  return {
    leaf: fingerprintOf(leaf),
    chain: chain.map(fingerprintOf).join(' '),
    signedBy: fingerprintOf(root),
    authorities: [...new Set(roots.map(fingerprintOf))],
    certificates: chain,
    roots,
    endsMs: leaf.validToDate.getTime(),
    times: path.map((each, at) => ({
      name: at === 0 ? 'the certificate' : `its authority ${subjectOf(each)}`,
      fromMs: each.validFromDate.getTime(),
      untilMs: each.validToDate.getTime(),
    })),
    isForClients: isForClients(leaf),
  };
}

type Tell = (name: string, what: string) => void;

/** Undefined: a problem was told. */
function bytesOf(name: string, files: Snapshot, tell: Tell): Buffer | undefined {
  const file = files.get(name);
  if (file.kind === 'missing') tell(name, `is missing: the Secret needs the key ${name}`);
  else if (file.kind === 'unreadable') tell(name, `cannot be read: it ${file.why}`);
  else if (file.bytes.length === 0) tell(name, `is empty: put PEM under the key ${name} of the Secret`);
  else return file.bytes;
  return undefined;
}

function certificatesOf(name: string, files: Snapshot, tell: Tell): readonly X509Certificate[] {
  const bytes = bytesOf(name, files, tell);
  if (!bytes) return [];
  const { certificates, bad } = certificatesIn(bytes.toString('latin1'));
  if (bad.length > 0) tell(name, `certificate ${bad.join(', ')} of it cannot be read: copy it anew`);
  else if (certificates.length === 0) tell(name, 'holds no certificate: expected PEM (-----BEGIN CERTIFICATE-----)');
  return bad.length > 0 ? [] : certificates;
}

function privateKeyOf(files: Snapshot, tell: Tell): KeyObject | undefined {
  const bytes = bytesOf('tls.key', files, tell);
  if (!bytes) return undefined;
  const key = keyIn(files);
  if (key) return key;
  const encrypted = /ENCRYPTED/.test(bytes.toString('latin1'));
  tell(
    'tls.key',
    encrypted
      ? 'is encrypted, and there is no pass phrase for it: store the key unencrypted'
      : 'holds no private key that can be read: expected PEM (-----BEGIN PRIVATE KEY-----)',
  );
  return undefined;
}

function checkKey(chain: readonly X509Certificate[], key: KeyObject, tell: Tell): void {
  const at = chain.findIndex((each) => each.checkPrivateKey(key));
  if (at === 0) return;
  if (at > 0) tell('tls.crt', `has the certificate of tls.key in place ${at + 1}: it has to be the first`);
  else tell('tls.key', 'does not belong to the certificate in tls.crt: put both of one issue into the Secret');
}

/** What fits in a status that every pod writes. */
const MOST_AUTHORITIES = 200;

function checkAuthorities(roots: readonly X509Certificate[], tell: Tell): void {
  if (roots.length > MOST_AUTHORITIES) {
    tell(
      'ca.crt',
      `holds ${roots.length} certificates, at most ${MOST_AUTHORITIES}: list only authorities of this Redis`,
    );
    return;
  }
  const others = roots.flatMap((root, at) => (root.ca ? [] : [`certificate ${at + 1} (${subjectOf(root)})`]));
  if (others.length === 0) return;
  tell('ca.crt', `${others.slice(0, 3).join(', ')} is no authority: only certificates that sign others belong here`);
}

function checkUsage(leaf: X509Certificate, tell: Tell): void {
  if (!isForServers(leaf)) tell('tls.crt', `is not for servers: ${USAGES}`);
}
