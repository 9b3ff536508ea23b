import { isIP } from 'node:net';
import { checkServerIdentity, type PeerCertificate, type TLSSocket } from 'node:tls';
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

/** The endpoint answers, and its certificate is not one that the bundle vouches for. */
export class Untrusted extends Error {}

/**
 * Asks for `/readyz` over TLS as the API server would ask, with nothing but the bundle to trust, and gives the status.
 * Rejects with `Untrusted` if that is not enough. Without a bundle any certificate is taken.
 */
export function probe(
  address: Address,
  endpoint: Endpoint,
  bundle: string | undefined,
  signal: AbortSignal,
): Promise<number> {
  // Ours has the names of the endpoint, wherever we connect to.
  const { host: identity } = addressOf(endpoint);
  const trust = {
    rejectUnauthorized: false,
    ...(bundle !== undefined && { ca: bundle }),
    checkServerIdentity: (_: string, shown: PeerCertificate) => checkServerIdentity(identity, shown),
  };
  // An address is no name that a greeting may hold.
  const servername = isIP(identity) === 0 ? identity : '';
  return new Promise((resolve, reject) => {
    const options = { ...address, servername, path: '/readyz', agent: false, timeout: PROBE_MS, signal, ...trust };
    const asked = https.request(options, (answer) => {
      answer.resume();
      const { authorized, authorizationError: why } = answer.socket as TLSSocket;
      if (bundle !== undefined && !authorized) reject(new Untrusted(String(why)));
      resolve(answer.statusCode ?? 0);
    });
    asked.on('timeout', () => asked.destroy(new Error(`no answer within ${PROBE_MS} ms`)));
    asked.on('error', reject);
    asked.end();
  });
}
