import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Agent, createServer, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Access } from './api.ts';
import { seededRandom } from './statistics.ts';

const FAULTS = [409, 429, 500] as const;

export interface FaultProxy {
  readonly server: string;
  readonly faults: () => number;
  close(): void;
}

/**
 * A way to the API server on which a share of the writes is refused as a busy or broken server would refuse them. It shows
 * the API server's own certificate.
 */
export async function startFaultProxy(access: Access, certificates: string, share: number): Promise<FaultProxy> {
  const agent = new Agent({ keepAlive: true, ca: access.authority });
  const random = seededRandom(7);
  let faults = 0;
  const server = createServer(
    {
      key: readFileSync(join(certificates, 'apiserver.key')),
      cert: readFileSync(join(certificates, 'apiserver.crt')),
    },
    (incoming, outgoing) => {
      if (incoming.method === 'GET' || random() >= share) {
        forward(new URL(incoming.url ?? '/', access.server), agent, incoming, outgoing);
        return;
      }
      faults += 1;
      incoming.resume();
      refuse(outgoing, FAULTS[Math.floor(random() * FAULTS.length)] ?? 500);
    },
  );
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    server: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    faults: () => faults,
    close() {
      server.closeAllConnections();
      server.close();
      agent.destroy();
    },
  };
}

function forward(url: URL, agent: Agent, incoming: IncomingMessage, outgoing: ServerResponse): void {
  const { host: _host, ...headers } = incoming.headers;
  const sent = request(url, { method: incoming.method, headers, agent }, (answer) => {
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
    outgoing.flushHeaders();
    answer.pipe(outgoing);
    answer.on('error', () => outgoing.destroy());
  });
  sent.on('error', () => outgoing.destroy());
  outgoing.on('close', () => sent.destroy());
  incoming.pipe(sent);
}

const REASONS: Readonly<Record<number, string>> = {
  409: 'Conflict',
  429: 'TooManyRequests',
  500: 'InternalError',
};

function refuse(outgoing: ServerResponse, code: number): void {
  outgoing.writeHead(code, { 'content-type': 'application/json', ...(code === 429 ? { 'retry-after': '1' } : {}) });
  const status = {
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    message: 'on purpose',
    reason: REASONS[code],
    code,
  };
  outgoing.end(JSON.stringify(status));
}
