import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '../../../runtime/clock.ts';
import { http } from '../../../runtime/node-http.ts';
import type { Log } from '../../../telemetry/log.ts';
import { messageOf } from '../../run-agent.ts';
import { type Answer, PAGES, type Shown } from './answers.ts';

export interface AgentServer {
  /** Undefined while it does not listen. */
  port(): number | undefined;
  close(): Promise<void>;
}

const TIMEOUT_MS = 10_000;
const RETRY_MS = 1000;

/** Serves probes, metrics and status. While the port is taken it is tried again; Redis does not wait for that. */
export function serve(
  shown: Shown,
  { log, clock, listen }: { readonly log: Log; readonly clock: Clock; readonly listen: { host: string; port: number } },
): AgentServer {
  const limits = { headersTimeout: TIMEOUT_MS, requestTimeout: TIMEOUT_MS };
  const server = http.createServer(limits, async (request, response) => {
    request.resume();
    const { status, body, type = 'text/plain; charset=utf-8' } = await answerTo(request, shown);
    response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body) });
    response.end(request.method === 'HEAD' ? undefined : body);
  });
  let isClosed = false;
  let callOff = (): void => {};
  const start = (): void => {
    if (!isClosed) server.listen({ port: listen.port, ...(listen.host === '' ? {} : { host: listen.host }) });
  };
  server.on('listening', () =>
    log.info('serving probes, metrics and status', { host: listen.host, port: portOf() ?? 0 }),
  );
  server.on('error', (error) => {
    log.error('cannot serve probes, trying again', { port: listen.port, error: messageOf(error) });
    callOff = clock.after(RETRY_MS, start);
  });
  const portOf = (): number | undefined => (server.address() as AddressInfo | null)?.port;
  start();
  return {
    port: portOf,
    async close() {
      isClosed = true;
      callOff();
      server.closeAllConnections();
      if (server.listening) await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function answerTo({ method = '', url = '', socket }: IncomingMessage, shown: Shown): Promise<Answer> {
  const { pathname, searchParams } = URL.parse(url, 'http://agent') ?? {
    pathname: '',
    searchParams: new URLSearchParams(),
  };
  const page = Object.hasOwn(PAGES, pathname) ? PAGES[pathname] : undefined;
  if (!page) return { status: 404, body: 'not found' };
  if (page.methods.length > 0 && !page.methods.includes(method))
    return { status: 405, body: `only ${page.methods.join(' and ')}` };
  try {
    return await page.answer(shown, { query: searchParams, from: socket.remoteAddress ?? '' });
  } catch (error) {
    return { status: 500, body: messageOf(error) };
  }
}
