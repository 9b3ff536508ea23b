import type { IncomingMessage, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '../runtime/clock.ts';
import { http } from '../runtime/node-http.ts';
import type { Log } from './log.ts';

export interface ServerSettings {
  /** '': all interfaces. */
  readonly host: string;
  readonly port: number;
  /** False: this process has to be replaced. */
  readonly live: () => boolean;
  readonly ready: () => boolean;
  readonly render: () => string;
  readonly log: Log;
  readonly clock: Clock;
}

export interface TelemetryServer {
  /** Returns at once: while the port is taken it is tried again, and the rest of the program goes on. */
  start(): void;
  stop(): Promise<void>;
  /** Undefined while it does not listen. */
  port(): number | undefined;
}

interface Answer {
  readonly status: number;
  readonly body: string;
}

const RETRY_FIRST_MS = 500;
const RETRY_CAP_MS = 30_000;

/** Metrics and health over plain HTTP, and nothing else: no profiler, no state. */
export function createServer(settings: ServerSettings): TelemetryServer {
  const { host, port, log, clock } = settings;
  const server = http.createServer({ requestTimeout: 10_000, headersTimeout: 10_000 }, (request, response) => {
    const { status, body } = answer(settings, request);
    response.writeHead(status, {
      'content-type': 'text/plain; version=0.0.4; charset=utf-8',
      'content-length': Buffer.byteLength(body),
      ...(status === 405 ? { allow: 'GET, HEAD' } : {}),
    });
    response.end(body);
  });
  let callOff = (): void => {};
  let retryMs = RETRY_FIRST_MS;
  let stopped = false;

  const listen = (): void => {
    if (!stopped) server.listen({ port, ...(host === '' ? {} : { host }) });
  };
  server.on('listening', () => {
    retryMs = RETRY_FIRST_MS;
    log.info('serving /metrics, /live, /healthz and /readyz', { host, port: portOf(server) });
  });
  server.on('error', (error: NodeJS.ErrnoException) => {
    const why = error.code === 'EADDRINUSE' ? 'the port is taken by another process' : error.message;
    log.error('cannot serve metrics and health, trying again', { host, port, error: why, retryInMs: retryMs });
    callOff = clock.after(retryMs, listen);
    retryMs = Math.min(RETRY_CAP_MS, retryMs * 2);
  });

  return {
    start: listen,
    port: () => portOf(server),
    async stop() {
      stopped = true;
      callOff();
      server.closeAllConnections();
      if (server.listening) await new Promise((resolve) => server.close(resolve));
    },
  };
}

const portOf = (server: Server): number | undefined => (server.address() as AddressInfo | null)?.port;

function answer(settings: ServerSettings, { method, url = '' }: IncomingMessage): Answer {
  const path = url.split('?')[0] ?? '';
  const handler = HANDLERS.get(path);
  if (!handler) return { status: 404, body: 'not found\n' };
  if (method !== 'GET' && method !== 'HEAD') return { status: 405, body: 'only GET and HEAD\n' };
  try {
    return handler(settings);
  } catch (error) {
    // A bug in what is shown must not end the program that is watched.
    settings.log.error('page cannot be shown', { path, error: String(error) });
    return { status: 500, body: '' };
  }
}

// As upstream: 500 without a body.
const health = ({ live }: ServerSettings): Answer =>
  live() ? { status: 200, body: 'alive' } : { status: 500, body: '' };

const HANDLERS = new Map<string, (settings: ServerSettings) => Answer>([
  ['/metrics', ({ render }) => ({ status: 200, body: render() })],
  ['/live', health],
  ['/healthz', health],
  ['/readyz', ({ ready }) => (ready() ? { status: 200, body: 'ready' } : { status: 503, body: 'not ready' })],
]);
