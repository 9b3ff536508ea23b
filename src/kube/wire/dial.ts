import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls, createSecureContext, type SecureContext } from 'node:tls';
import type { Connection, TlsOptions } from '../auth/connection.ts';

/**
 * Opens connections to the server, on their own or through what leads there already. Throws where a certificate or key
 * cannot be read.
 */
export function dialer({ server, tls }: Pick<Connection, 'server' | 'tls'>): (through?: Socket) => Socket {
  const host = server.hostname.replace(/^\[|\]$/g, '');
  if (server.protocol !== 'https:') {
    return (through) => through ?? connect({ host, port: Number(server.port || 80) });
  }
  // An address is no name that a server could have a certificate for.
  const name = isIP(host) === 0 && { servername: host };
  const target = { host, port: Number(server.port || 443), ...name };
  let proof = provenBy(tls());
  return (through) => {
    proof = renewed(proof, tls());
    const mine = proof;
    const { session, secureContext } = mine;
    const way = { ...target, ...(through && { socket: through }), ...(session && { session }) };
    const socket = connectTls({ ...way, ...mine.tls, secureContext });
    // The next one need not prove everything again.
    socket.on('session', (ticket: Buffer) => {
      mine.session = ticket;
    });
    return socket;
  };
}

interface Proof {
  readonly tls: TlsOptions;
  readonly secureContext: SecureContext;
  session?: Buffer;
}

const provenBy = (tls: TlsOptions): Proof => ({ tls, secureContext: secureContextOf(tls) });

// OpenSSL's SSL_OP_CLEANSE_PLAINTEXT, for which Node has no name: what was read off a connection is overwritten there.
const CLEANSE_PLAINTEXT = 2;

/** A certificate may be there a moment before its key: until both fit, the old ones have to do. */
function renewed(proof: Proof, tls: TlsOptions): Proof {
  if (tls === proof.tls) return proof;
  try {
    return provenBy(tls);
  } catch {
    return proof;
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
