import { isIP } from 'node:net';
import { checkServerIdentity, type PeerCertificate } from 'node:tls';
import { https } from '../runtime/node-http.ts';
import { type Endpoint, hostsOf } from './endpoint.ts';

/** Where to connect to. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

const PROBE_MS = 3000;

/** How the API server comes to the endpoint. */
export function addressOf(endpoint: Endpoint): Address {
  const { name, namespace, url } = endpoint;
  if (url === '') return { host: `${name}.${namespace}.svc`, port: 443 };
  const [host = ''] = hostsOf(endpoint);
  return { host, port: Number(new URL(url).port || 443) };
}

/**
 * Asks for `/readyz` over TLS as the API server would ask, with nothing but the bundle to trust, and gives the status.
 * Without a bundle somebody else vouches for the certificate, and any is taken.
 */
export function probe(address: Address, endpoint: Endpoint, bundle: string, signal: AbortSignal): Promise<number> {
  // Ours has the names of the endpoint, wherever we connect to.
  const { host: identity } = addressOf(endpoint);
  const checked = {
    ca: bundle,
    checkServerIdentity: (_: string, shown: PeerCertificate) => checkServerIdentity(identity, shown),
  };
  const trust = bundle === '' ? { rejectUnauthorized: false } : checked;
  // An address is no name that a greeting may hold.
  const servername = isIP(identity) === 0 ? identity : '';
  return new Promise((resolve, reject) => {
    const options = { ...address, servername, path: '/readyz', agent: false, timeout: PROBE_MS, signal, ...trust };
    const asked = https.request(options, (answer) => {
      answer.resume();
      resolve(answer.statusCode ?? 0);
    });
    asked.on('timeout', () => asked.destroy(new Error(`no answer within ${PROBE_MS} ms`)));
    asked.on('error', reject);
    asked.end();
  });
}
