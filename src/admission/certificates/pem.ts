import { createPrivateKey, X509Certificate } from 'node:crypto';

/** A certificate and the private key of it, both PEM. */
export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

const BLOCK = /-----BEGIN ([A-Z0-9 ]+)-----[\s\S]*?-----END \1-----/g;

/** The PEM blocks of a text, each with its end of line. */
export const pemBlocks = (text: string): readonly string[] => (text.match(BLOCK) ?? []).map((block) => `${block}\n`);

/** The certificate in a PEM text, the first if there are several; undefined if there is none. */
export function certificateIn(text: string): X509Certificate | undefined {
  try {
    return new X509Certificate(text);
  } catch {
    return undefined;
  }
}

/** What is wrong with a pair; undefined if it can be served. Nothing of a key is quoted. */
export function pairProblem({ cert, key }: KeyPair): 'certificate' | 'key' | 'fit' | undefined {
  const certificate = certificateIn(cert);
  if (!certificate) return 'certificate';
  try {
    return certificate.checkPrivateKey(createPrivateKey(key)) ? undefined : 'fit';
  } catch {
    return 'key';
  }
}
