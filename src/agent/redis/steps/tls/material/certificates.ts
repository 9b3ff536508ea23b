import { X509Certificate } from 'node:crypto';

const BLOCK = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/** The certificates of a PEM text, in order. `bad`: the numbers of those that cannot be read, from 1 on. */
export function certificatesIn(text: string): {
  readonly certificates: readonly X509Certificate[];
  readonly bad: readonly number[];
} {
  const certificates: X509Certificate[] = [];
  const bad: number[] = [];
  for (const [at, block] of (text.match(BLOCK) ?? []).entries()) {
    try {
      certificates.push(new X509Certificate(block));
    } catch {
      bad.push(at + 1);
    }
  }
  return { certificates, bad };
}

/** SHA-256, as 64 lower-case hex digits. */
export const fingerprintOf = ({ fingerprint256 }: X509Certificate): string =>
  fingerprint256.replaceAll(':', '').toLowerCase();

/** As PEM, each certificate once. */
export function bundleOf(certificates: readonly X509Certificate[]): string {
  return [...new Set(certificates.map((each) => each.toString()))].join('');
}

/** A name for messages: one line, and short. */
export const subjectOf = ({ subject }: X509Certificate): string => nameText(subject);
export const issuerOf = ({ issuer }: X509Certificate): string => nameText(issuer);

const nameText = (name: string | undefined): string =>
  (name ?? '').replace(/\s+/g, ' ').trim().slice(0, 100) || 'no name';

const CLIENT = '1.3.6.1.5.5.7.3.2';
const SERVER = '1.3.6.1.5.5.7.3.1';

/** Whether it may be shown to another Redis, as every replica does. */
export const isForClients = (certificate: X509Certificate): boolean => isFor(certificate, CLIENT);
export const isForServers = (certificate: X509Certificate): boolean => isFor(certificate, SERVER);

/** A certificate that names no usages is for all. */
const isFor = ({ keyUsage }: X509Certificate, usage: string): boolean =>
  !keyUsage || keyUsage.length === 0 || keyUsage.includes(usage);

/** More than any authority puts between itself and a leaf. */
const MOST_DEPTH = 8;

/**
 * From the leaf up to a root among the authorities, both included; undefined if there is no such way. As OpenSSL has it, an
 * intermediate alone is no authority: only a certificate that has signed itself ends the chain.
 */
export function chainOf(
  leaf: X509Certificate,
  between: readonly X509Certificate[],
  authorities: readonly X509Certificate[],
): readonly X509Certificate[] | undefined {
  const roots = new Set(authorities.map(fingerprintOf));
  // Of several with one name and one key the one that lasts longest.
  const issuers = [...authorities, ...between].toSorted((a, b) => b.validToDate.getTime() - a.validToDate.getTime());
  // What leads nowhere once leads nowhere again: otherwise authorities that sign each other would keep us busy for ever.
  const tried = new Set<X509Certificate>();
  const climb = (path: readonly X509Certificate[]): readonly X509Certificate[] | undefined => {
    const top = path.at(-1);
    if (!top || path.length > MOST_DEPTH) return undefined;
    if (roots.has(fingerprintOf(top)) && hasSigned(top, top)) return path;
    for (const issuer of issuers) {
      if (tried.has(issuer) || !issuer.ca || !hasSigned(issuer, top)) continue;
      tried.add(issuer);
      const found = climb([...path, issuer]);
      if (found) return found;
    }
    return undefined;
  };
  return climb([leaf]);
}

function hasSigned(issuer: X509Certificate, certificate: X509Certificate): boolean {
  try {
    return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
  } catch {
    // A key of a kind that this OpenSSL cannot verify with.
    return false;
  }
}
