import type { ServerResponse } from 'node:http';
import type { ServerOptions } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { https } from '../../runtime/node-http.ts';
import { Connections } from './connections.ts';
import { createResponder, type ResponderDeps } from './responder.ts';
import type { ReviewLimits } from './review-handler.ts';

export interface AdmissionServerDeps extends ResponderDeps {
  /** A host of '' is all interfaces. */
  readonly listen: { readonly host: string; readonly port: number };
}

export interface AdmissionServer {
  /** Waits for the first certificate, listens, and returns the port. Rejects if the port cannot be had, or after `stop`. */
  start(): Promise<number>;
  /** PEM. From the next handshake on; connections that are open live on. Throws for what is none, or does not belong together. */
  useCertificate(certificate: { readonly cert: string; readonly key: string }): void;
  /** Undefined while it does not listen. */
  port(): number | undefined;
  /** Answers what has arrived, and ends all connections; those that will not end, soon. */
  stop(): Promise<void>;
}

const MIB = 1024 ** 2;

/**
 * Anybody in the cluster can connect: nobody may hold a connection, or memory, for nothing. Of connections, reviews and
 * bytes one address gets at most half. An API server has 200 writes in flight, by its own default.
 */
export const LIMITS = {
  connections: 1024,
  reviews: 512,
  roomBytes: 48 * MIB,
  bodyBytes: 7 * MIB,
  headerBytes: 16 * 1024,
  handshakeMs: 5000,
  headersMs: 5000,
  /** Head and body together. */
  requestMs: 5000,
  /** How often the two before are looked at. */
  checkMs: 1000,
  /** Without a byte in either direction while a request is under way. */
  silentMs: 10_000,
  /** Between two requests. The API server ends its connections after 90 s: it shall be the one who does. */
  idleMs: 120_000,
  answerMs: 5000,
  stopMs: 2000,
} as const satisfies ReviewLimits & Readonly<Record<string, number>>;

export type Limits = Readonly<Record<keyof typeof LIMITS, number>>;

// Has to be said with each certificate.
const MIN_VERSION = 'TLSv1.2';

/** HTTPS for the API server: `POST /mutate` with a review, `GET /readyz`, and nothing else. */
export function createAdmissionServer(deps: AdmissionServerDeps, limits: Limits = LIMITS): AdmissionServer {
  const { listen, clock, log } = deps;
  const respond = createResponder(deps, limits);
  const certified = Promise.withResolvers<void>();
  const connections = new Connections(limits.connections);
  /** The response that is not over yet. Afterwards it would keep the body of its request in memory. */
  const latest = new WeakMap<Socket, ServerResponse>();
  let isStopping = false;

  const server = https.createServer(optionsFor(limits), (request, response) => {
    const before = latest.get(request.socket);
    const connection = connections.began(placeOf(request.socket));
    // A second request before the answer to the first: no API server sends that.
    if (!connection || before?.writableEnded === false) return void request.socket.destroy();
    latest.set(request.socket, response);
    response.once('close', () => {
      if (latest.get(request.socket) === response) latest.delete(request.socket);
      connections.ended(connection);
    });
    void respond(request, response, {
      client: connection.client,
      // Who goes soon takes no further request on this connection: one that is on its way when it ends would be lost.
      isLast: () => isStopping || !deps.isReady(),
      proved: () => connections.proved(connection),
    });
  });
  server.timeout = limits.silentMs;
  server.on('connection', (socket: Socket) => {
    const { remoteAddress: client = '' } = socket;
    const connection = { client, place: placeOf(socket), close: () => void socket.destroy() };
    socket.once('close', () => connections.closed(connection));
    connections.opened(connection);
  });
  server.on('tlsClientError', ({ message }: Error) => log.debug('TLS handshake failed', { error: message }));
  const portNow = (): number | undefined => (server.address() as AddressInfo | null)?.port;

  return {
    async start() {
      await certified.promise;
      if (isStopping) throw new Error('admission was stopped before it began to listen');
      const { host, port } = listen;
      const listening = Promise.withResolvers<void>();
      server.once('listening', listening.resolve);
      server.on('error', (error: NodeJS.ErrnoException) => {
        listening.reject(new Error(cannotListen(listen, error), { cause: error }));
        if (server.listening) log.error('the admission port has an error', { error: error.message });
      });
      server.listen({ port, ...(host === '' ? {} : { host }) });
      await listening.promise;
      log.info('serving admission', { host, port: portNow() });
      return portNow() ?? port;
    },
    useCertificate({ cert, key }) {
      server.setSecureContext({ cert, key, minVersion: MIN_VERSION });
      certified.resolve();
    },
    port: portNow,
    async stop() {
      isStopping = true;
      certified.resolve();
      if (!server.listening) return;
      // Ends idle connections at once.
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      const callOff = clock.after(limits.stopMs, () => connections.closeAll());
      await closed;
      callOff();
    },
  };
}

const optionsFor = (limits: Limits): ServerOptions => ({
  minVersion: MIN_VERSION,
  handshakeTimeout: limits.handshakeMs,
  headersTimeout: limits.headersMs,
  requestTimeout: limits.requestMs,
  connectionsCheckingInterval: limits.checkMs,
  keepAliveTimeout: limits.idleMs,
  maxHeaderSize: limits.headerBytes,
});

const placeOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;

function cannotListen({ host, port }: AdmissionServerDeps['listen'], { code, message }: NodeJS.ErrnoException): string {
  const where = `cannot serve admission on ${host}:${port}`;
  if (code === 'EADDRINUSE')
    return `${where}: another process has the port; end it, or name a free one with --admission-listen`;
  if (code === 'EACCES') return `${where}: not allowed; name a port above 1023 with --admission-listen`;
  return `${where}: ${message}; --admission-listen says where`;
}
