import { X509Certificate } from 'node:crypto';
import { connect } from 'node:tls';

/** SHA-256 of the first certificate of a PEM text. */
export const leafIn = (pem: string): string => new X509Certificate(pem).fingerprint256;

/** SHA-256 of the certificate that a server shows to whoever connects; it must be of this authority. */
export function leafShownBy(server: {
  readonly host: string;
  readonly port: number;
  readonly ca: Buffer;
}): Promise<string> {
  return new Promise((resolve, reject) => {
    // Pods are reached by address, and no certificate has one.
    const socket = connect({ ...server, checkServerIdentity: () => undefined, timeout: 5000 });
    socket.once('secureConnect', () => {
      resolve(socket.getPeerCertificate().fingerprint256);
      socket.destroy();
    });
    socket.once('timeout', () => socket.destroy(new Error(`${server.host} is silent`)));
    socket.once('error', reject);
  });
}
