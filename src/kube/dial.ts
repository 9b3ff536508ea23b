import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Connection } from './connection.ts';

/** Opens connections to the server itself. */
export function dialler({ server, tls }: Connection): () => Socket {
  const host = server.hostname.replace(/^\[|\]$/g, '');
  if (server.protocol !== 'https:') return () => connect({ host, port: Number(server.port || 80) });
  // An address is no name that a server could have a certificate for.
  const target = { host, port: Number(server.port || 443), ...(isIP(host) === 0 && { servername: host }), ...tls };
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
