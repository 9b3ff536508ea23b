import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls, createSecureContext, type SecureContext } from 'node:tls';
import type { Connection, TlsOptions } from '../auth/connection.ts';
import { addressOf } from './address.ts';

/**
 * Opens connections to the server, directly or inside of `tunnel`, a connection that leads there. Throws where a
 * certificate or key cannot be used.
 */
export function dialer({ server, tls }: Pick<Connection, 'server' | 'tls'>): (tunnel?: Socket) => Socket {
  const address = addressOf(server);
  if (server.protocol !== 'https:') return (tunnel) => tunnel ?? connect(address);
  // SNI carries names, not addresses.
  const target = { ...address, ...(isIP(address.host) === 0 && { servername: address.host }) };
  let current = tlsContext(tls());
  return (tunnel) => {
    current = renewed(current, tls());
    const context = current;
    const { session, secureContext } = context;
    const way = { ...target, ...(tunnel && { socket: tunnel }), ...(session && { session }) };
    const socket = connectTls({ ...way, ...context.tls, secureContext });
    // The next connection resumes the session: a shorter handshake.
    socket.on('session', (ticket: Buffer) => {
      context.session = ticket;
    });
    return socket;
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
