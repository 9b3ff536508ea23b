import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Connection } from '../../src/kube/auth/connection.ts';

/** One request to the scripted API server, and the ways to answer it, well or badly. */
export interface Exchange {
  readonly verb: 'list' | 'watch' | 'get' | 'create' | 'update' | 'patch' | 'delete';
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  /** Which socket it came over, counted from 1. */
  readonly socket: number;
  /** Whether it is over, by whoever's will. */
  readonly closed: boolean;
  json(status: number, body: unknown, headers?: Readonly<Record<string, string>>): void;
  status(code: number, reason: string, message?: string): void;
  /** Sends a piece of a body, of whatever shape; the head goes first. */
  write(text: string | Buffer): Promise<void>;
  /** Sends an event of a watch as a line. */
  event(type: string, object: unknown): Promise<void>;
  end(): void;
  /** Breaks the connection. */
  cut(): void;
}

export type Answer = (exchange: Exchange) => void | Promise<void>;

export interface ScriptedApi {
  readonly connection: Connection;
  /** All requests so far. */
  readonly requests: readonly Exchange[];
  /** Breaks every connection and listens no more. */
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * A real HTTP server that does what a real API server does not do on demand. The first request of a verb is answered
 * by the first answer in its row, and so on; the last one stays.
 */
export async function scriptedApi(
  script: Partial<Record<Exchange['verb'], readonly Answer[]>> | Answer,
): Promise<ScriptedApi> {
  const requests: Exchange[] = [];
  const sockets = new Map<object, number>();
  // A connection that waits is closed by nobody's clock: who waits for long, on a slow machine, finds it as it was.
  const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const socket = sockets.get(request.socket) ?? sockets.size + 1;
      sockets.set(request.socket, socket);
      const exchange = readExchange(request, response, Buffer.concat(chunks).toString('utf8'), socket);
      requests.push(exchange);
      const nth = requests.filter(({ verb }) => verb === exchange.verb).length;
      const answers = typeof script === 'function' ? [script] : (script[exchange.verb] ?? []);
      const answer = answers[Math.min(nth, answers.length) - 1];
      if (!answer) exchange.status(501, 'NotInTheScript', `${exchange.verb} ${exchange.path}`);
      else void Promise.resolve(answer(exchange)).catch(() => exchange.cut());
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const tls = {};
  return {
    connection: { server: new URL(`http://127.0.0.1:${port}`), tls: () => tls, authorization: () => 'Bearer test' },
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const VERBS: Readonly<Record<string, Exchange['verb']>> = {
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};

function readExchange(request: IncomingMessage, response: ServerResponse, body: string, socket: number): Exchange {
  const url = new URL(request.url ?? '/', 'http://localhost');
  const read = url.searchParams.has('watch') ? 'watch' : namesAnObject(url.pathname) ? 'get' : 'list';
  const write = (text: string | Buffer) =>
    new Promise<void>((resolve, reject) => response.write(text, (error) => (error ? reject(error) : resolve())));
  const json: Exchange['json'] = (status, answer, headers = {}) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(answer));
  };
  return {
    verb: VERBS[request.method ?? ''] ?? read,
    path: url.pathname,
    query: url.searchParams,
    headers: request.headers,
    body,
    socket,
    get closed() {
      return response.closed;
    },
    json,
    status: (code, reason, message = '') =>
      json(code, { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message }),
    write,
    event: (type, object) => write(`${JSON.stringify({ type, object })}\n`),
    end: () => response.end(),
    cut: () => request.socket.destroy(),
  };
}

function namesAnObject(path: string): boolean {
  const parts = path.replace(/^\/(api\/[^/]+|apis\/[^/]+(\/[^/]+)?)\/?/, '').split('/');
  return (parts[0] === 'namespaces' && parts.length > 2 ? parts.slice(2) : parts).length > 1;
}

/** A list as the API server sends it. */
export function listOf(
  items: readonly unknown[],
  resourceVersion: string,
  extra: { readonly next?: string; readonly kind?: string } = {},
) {
  return { kind: extra.kind ?? 'List', metadata: { resourceVersion, continue: extra.next ?? '' }, items };
}

/** A ConfigMap, or a bookmark's object. */
export function configMap(name: string, resourceVersion: string, data: Readonly<Record<string, string>> = {}) {
  return { metadata: { namespace: 'shop', name, uid: `uid-${name}`, resourceVersion }, data };
}
