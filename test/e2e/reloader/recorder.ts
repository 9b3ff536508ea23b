import { readFileSync } from 'node:fs';
import { Agent, createServer, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { controlPlane } from '../../support/sandbox.ts';

export interface RecordedRequest {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly contentType: string;
  readonly body: string;
}

/** Passes everything on to the API server and keeps what was asked. */
export interface Recorder extends AsyncDisposable {
  readonly server: string;
  readonly requests: readonly RecordedRequest[];
  forget(): void;
}

export async function recorder(): Promise<Recorder> {
  const plane = controlPlane();
  const agent = new Agent({ keepAlive: true, ca: plane.authority });
  const requests: RecordedRequest[] = [];
  const file = (ending: string) => readFileSync(join(plane.dir, 'certificates', `apiserver.${ending}`));
  const server = createServer({ key: file('key'), cert: file('crt') }, (incoming, outgoing) => {
    const { method = 'GET', headers } = incoming;
    const url = new URL(incoming.url ?? '/', plane.server);
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const body = Buffer.concat(chunks);
      const contentType = headers['content-type'] ?? '';
      requests.push({ method, path: url.pathname, query: url.searchParams, contentType, body: body.toString('utf8') });
      const sent = request(url, { method, headers: { ...headers, host: url.host }, agent }, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        outgoing.flushHeaders();
        answer.pipe(outgoing);
        answer.on('error', () => outgoing.destroy());
      });
      sent.on('error', () => outgoing.destroy());
      outgoing.on('close', () => sent.destroy());
      sent.end(body);
    });
  });
  // A connection that is closed after five idle seconds, while a request is on its way, would be a failure to be told and retried.
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    server: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    forget: () => void requests.splice(0),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      agent.destroy();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
}
