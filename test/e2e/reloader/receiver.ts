import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { until } from '../../support/wait.ts';

export interface Received {
  readonly method: string;
  readonly path: string;
  readonly contentType: string;
  readonly body: string;
}

/** A web server that keeps what it is sent. */
export interface Receiver extends AsyncDisposable {
  readonly url: string;
  readonly received: readonly Received[];
  /** The status of its answers from now on. */
  answer(status: number): void;
  untilReceived(count: number): Promise<readonly Received[]>;
}

export async function receiver(): Promise<Receiver> {
  const received: Received[] = [];
  let status = 200;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      received.push({
        method: request.method ?? '',
        path: request.url ?? '',
        contentType: request.headers['content-type'] ?? '',
        body: Buffer.concat(chunks).toString('utf8'),
      });
      response.writeHead(status);
      response.end('thank you');
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    answer(code) {
      status = code;
    },
    untilReceived: (count) => until(() => received.length >= count && received, { what: `${count} requests` }),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
}
