import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls, createSecureContext, type SecureContext } from 'node:tls';
import type { Connection } from './connection.ts';

/** Opens connections to the server itself. Throws where a certificate or key cannot be read. */
export function dialler({ server, tls }: Connection): () => Socket {
  const host = server.hostname.replace(/^\[|\]$/g, '');
  if (server.protocol !== 'https:') return () => connect({ host, port: Number(server.port || 80) });
  const secureContext = secureContextOf(tls);
  // An address is no name that a server could have a certificate for.
  const name = isIP(host) === 0 && { servername: host };
  const target = { host, port: Number(server.port || 443), ...name, ...tls, secureContext };
  let session: Buffer | undefined;
  return () => {
    const socket = connectTls({ ...target, ...(session && { session }) });
    // The next one need not prove everything again.
    socket.on('session', (ticket: Buffer) => {
      session = ticket;
    });
    return socket;
  };
}

function secureContextOf(tls: Connection['tls']): SecureContext {
  try {
    return createSecureContext(tls);
  } catch (error) {
    const what = 'the certificate authority, client certificate or client key of the connection cannot be used';
    throw new Error(`${what}; expected PEM, and a key that fits its certificate`, { cause: error });
  }
}
