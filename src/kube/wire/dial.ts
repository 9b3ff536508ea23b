import { connect, isIP, type Socket } from 'node:net';
import {
  type ConnectionOptions,
  checkServerIdentity,
  connect as connectTls,
  createSecureContext,
  type SecureContext,
} from 'node:tls';
import type { Connection, TlsOptions } from '../auth/connection.ts';
import { addressOf } from './address.ts';

/**
 * Opens connections to the server, directly or inside of `tunnel`, a connection that leads there. Throws where a
 * certificate or key cannot be used.
 */
export function dialer({ server, tls }: Pick<Connection, 'server' | 'tls'>): (tunnel?: Socket) => Socket {
  const address = addressOf(server);
  if (server.protocol !== 'https:') return (tunnel) => tunnel ?? connect(address);
  let current = tlsContext(tls());
  return (tunnel) => {
    current = renewed(current, tls());
    const context = current;
    const { session, secureContext } = context;
    const { servername = address.host, ...trust } = context.tls;
    const way = { ...address, ...(tunnel && { socket: tunnel }), ...(session && { session }) };
    const socket = connectTls({ ...way, ...trust, ...identityOf(servername), secureContext });
    // The next connection resumes the session: a shorter handshake.
    socket.on('session', (ticket: Buffer) => {
      context.session = ticket;
    });
    return socket;
  };
}

/** Whose certificate the server has to show. It is told by SNI, which carries names, not addresses. */
function identityOf(server: string): ConnectionOptions {
  // A dot at the end is for DNS alone: in SNI Go's servers refuse it.
  const name = server.replace(/\.+$/, '');
  return {
    ...(isIP(name) === 0 && { servername: name }),
    checkServerIdentity: (_host, certificate) => checkServerIdentity(name, certificate),
  };
}

interface TlsContext {
  readonly tls: TlsOptions;
  readonly secureContext: SecureContext;
  session?: Buffer;
}

const tlsContext = (tls: TlsOptions): TlsContext => ({ tls, secureContext: secureContextOf(tls) });

// OpenSSL's SSL_OP_CLEANSE_PLAINTEXT, which Node has no name for: OpenSSL overwrites its buffers after they were read.
const CLEANSE_PLAINTEXT = 2;

/** While certificate and key are rotated they may not fit each other for a moment: until then the old ones are used. */
function renewed(current: TlsContext, tls: TlsOptions): TlsContext {
  if (tls === current.tls) return current;
  try {
    return tlsContext(tls);
  } catch {
    return current;
  }
}

function secureContextOf(tls: TlsOptions): SecureContext {
  try {
    return createSecureContext({ ...tls, secureOptions: CLEANSE_PLAINTEXT });
  } catch (error) {
    const what = 'the certificate authority, client certificate or client key of the connection cannot be used';
    throw new Error(`${what}; expected PEM, and a key that fits its certificate`, { cause: error });
  }
}
