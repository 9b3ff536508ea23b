import type { X509Certificate } from 'node:crypto';
import { connect, type TLSSocket } from 'node:tls';
import { RedisUnreachable } from '../../connection/redis.ts';
import { fingerprintOf } from './material/certificates.ts';

export interface TlsTarget {
  readonly host: string;
  readonly port: number;
}

/** The leaf that a server shows. */
export interface Shown {
  readonly leaf: string;
  readonly endsMs: number;
}

/** The handshake came to a TLS peer, and failed by its certificates; the message says why. */
export class HandshakeRefused extends Error {
  override readonly name = 'HandshakeRefused';
}

export interface Proof {
  /** PEM: what the leaf must lead to. */
  readonly ca: string;
  /** Shown to Redis as a replica would; without them only Redis's own side is proven. */
  readonly client?: { readonly cert: string; readonly key: string } | undefined;
  /** It is known that the leaf has expired: a server that has no other goes on with it. */
  readonly hasExpired?: boolean;
}

const TIMEOUT_MS = 5_000;

/** What is served, whether it is any good or not. */
export const lookAt = (target: TlsTarget): Promise<Shown> => shake(target, undefined);

/** A new connection, verified as a client would (names apart: pods are reached by address), and an answer over it. */
export const proveBy = (target: TlsTarget, proof: Proof): Promise<Shown> => shake(target, proof);

function shake({ host, port }: TlsTarget, proof: Proof | undefined): Promise<Shown> {
  return new Promise((resolve, reject) => {
    const socket = opened({ host, port }, proof);
    let shown: Shown | undefined;
    const end = (settle: () => void): void => {
      clearTimeout(timer);
      socket.destroy();
      settle();
    };
    const unreachable = (why: string, cause?: Error): void =>
      end(() =>
        reject(new RedisUnreachable(`a TLS handshake with Redis at ${host}:${port} failed: ${why}`, { cause })),
      );
    const timer = setTimeout(() => unreachable(`no answer for ${TIMEOUT_MS / 1000} s`), TIMEOUT_MS);

    socket.once('secureConnect', () => {
      const certificate = socket.getPeerX509Certificate();
      if (!certificate) return unreachable('it shows no certificate');
      shown = shownBy(certificate);
      const why = proof && String(socket.authorizationError ?? '');
      if (why && !(proof.hasExpired && why === 'CERT_HAS_EXPIRED'))
        return end(() => reject(new HandshakeRefused(`the chain is refused: ${why}`)));
      // TLS 1.3: whether the server takes our certificate shows only in the first answer.
      if (proof?.client) socket.write('PING\r\n');
      else end(() => resolve(shown as Shown));
    });
    socket.once('data', () => end(() => resolve(shown as Shown)));
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (!/^ERR_SSL_.*ALERT/.test(error.code ?? '')) return unreachable(error.message, error);
      end(() => reject(new HandshakeRefused(`Redis refuses this certificate when a replica shows it (${error.code})`)));
    });
    socket.once('close', () => unreachable('the connection was closed'));
  });
}

function opened({ host, port }: TlsTarget, proof: Proof | undefined): TLSSocket {
  try {
    return connect({
      host,
      port,
      ...(proof && { ca: proof.ca, ...proof.client }),
      // The verdict is read from the socket: so the leaf is known in any case.
      rejectUnauthorized: false,
      checkServerIdentity: () => undefined,
    });
  } catch (error) {
    // OpenSSL's words for a certificate it will not use at all, like "ee key too small".
    throw new HandshakeRefused(`the certificate cannot be used: ${(error as Error).message}`, { cause: error });
  }
}

const shownBy = (certificate: X509Certificate): Shown => ({
  leaf: fingerprintOf(certificate),
  endsMs: certificate.validToDate.getTime(),
});
