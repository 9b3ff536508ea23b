import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { keepTrying } from '../keep-trying.ts';
import { certificateIn, pairProblem, pemBlocks } from './pem.ts';
import { type CertificateDeps, changeTeller, POLL_MS, type ServingCertificate } from './serving-certificate.ts';

export interface FilesCertificateDeps extends CertificateDeps {
  /** Holds tls.crt, tls.key and perhaps ca.crt, as in a mounted Secret of cert-manager. */
  readonly dir: string;
}

/** Serves the certificate of a folder and reads it again whenever it changes, until aborted; a bad one changes nothing. */
export async function filesCertificate(deps: FilesCertificateDeps, signal: AbortSignal): Promise<void> {
  const { dir, clock, log } = deps;
  const tell = changeTeller(deps);
  let isServing = false;
  const look = async (): Promise<number> => {
    const read = await readFolder(dir);
    if (Array.isArray(read)) throw new Error(read.join('; '));
    tell(read);
    isServing = true;
    return POLL_MS;
  };
  const explain = (error: unknown): string => {
    const until = isServing ? 'the last good one is served on' : 'nothing is served until it can be used';
    return `admission's certificate in ${dir} cannot be used, ${until}: ${error instanceof Error ? error.message : error}`;
  };
  await keepTrying(look, { clock, log, explain }, signal);
}

const EXPECTED = {
  certificate: 'tls.crt: expected a certificate in PEM',
  key: 'tls.key: expected a private key in PEM, without a passphrase',
  fit: 'tls.key: expected the key of the certificate in tls.crt, and it is another one',
};

/** The certificate, or all that is wrong with it. */
async function readFolder(dir: string): Promise<ServingCertificate | string[]> {
  const [cert, key, ca] = await Promise.all(
    ['tls.crt', 'tls.key', 'ca.crt'].map((name) => readFile(join(dir, name), 'utf8').catch(reasonFor(name))),
  );
  const problems = [cert, key].flatMap((each) => (typeof each === 'object' ? [each.problem] : []));
  const bundle = typeof ca === 'object' ? '' : (ca ?? '');
  if (typeof ca === 'object' && !ca.isAbsent) problems.push(ca.problem);
  if (bundle !== '' && (pemBlocks(bundle).length === 0 || pemBlocks(bundle).some((each) => !certificateIn(each)))) {
    problems.push('ca.crt: expected certificates in PEM');
  }
  if (typeof cert !== 'string' || typeof key !== 'string') return problems;
  const wrong = pairProblem({ cert, key });
  if (wrong) problems.push(EXPECTED[wrong]);
  if (problems.length > 0) return problems;
  return { cert, key, bundle, notAfterMs: certificateIn(cert)?.validToDate.getTime() ?? 0 };
}

const reasonFor = (name: string) => (error: NodeJS.ErrnoException) => ({
  problem: `${name}: ${error.code === 'ENOENT' ? 'there is no such file' : `it cannot be read (${error.code})`}`,
  isAbsent: error.code === 'ENOENT',
});
