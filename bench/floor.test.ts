import { createServer, type RequestListener } from 'node:http';
import { createServer as createHttp2Server, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { Access } from './api.ts';
import { runFloor } from './floor.ts';

const CHANGED = [
  { type: 'ADDED', object: { metadata: { name: 'app-0', resourceVersion: '8' } } },
  { type: 'MODIFIED', object: { metadata: { name: 'app-1', resourceVersion: '11' } } },
  { type: 'MODIFIED', object: { metadata: { name: 'app-2', resourceVersion: '12' } } },
];

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

interface Seen {
  readonly requests: string[];
  readonly bodies: Set<string>;
  readonly versions: Set<string>;
  mostAtOnce: number;
}

/** Serves a list, a watch that ends when every PATCH has been answered, and PATCHes that wait for others to come. */
async function serve(
  protocol: 'h1' | 'h2',
  patches: number,
  together: number,
): Promise<{ readonly access: Access; readonly seen: Seen }> {
  const seen: Seen = { requests: [], bodies: new Set(), versions: new Set(), mostAtOnce: 0 };
  const open: (() => void)[] = [];
  let watch: Http2ServerResponse | undefined;
  let answered = 0;
  const patch = (response: Http2ServerResponse): void => {
    open.push(() => {
      answered += 1;
      response.end('{}');
    });
    seen.mostAtOnce = Math.max(seen.mostAtOnce, open.length);
    // Whoever could send more would have sent them by the next turns of the loop.
    if (open.length === Math.min(together, patches - answered)) {
      setTimeout(() => {
        for (const answer of open.splice(0)) answer();
        if (answered === patches) watch?.end();
      }, 20);
    }
  };
  const handle = (request: Http2ServerRequest, response: Http2ServerResponse): void => {
    let body = '';
    request.on('data', (chunk: Buffer) => {
      body += chunk.toString();
    });
    request.on('end', () => {
      const isWatch = request.url.includes('watch=1');
      seen.requests.push(`${request.method} ${request.url.replace(/\?.*$/, isWatch ? '?watch' : '')}`);
      seen.versions.add(request.httpVersion);
      response.writeHead(200, { 'content-type': 'application/json' });
      if (request.method === 'PATCH') {
        seen.bodies.add(body);
        patch(response);
      } else if (isWatch) {
        watch = response;
        for (const event of CHANGED) response.write(`${JSON.stringify(event)}\n`);
      } else response.end('{"metadata":{"resourceVersion":"7"}}');
    });
  };
  const server = protocol === 'h1' ? createServer(handle as unknown as RequestListener) : createHttp2Server(handle);
  closing.push(() => server.close());
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return { access: { server: `http://127.0.0.1:${port}`, authority: '', token: 'test' }, seen };
}

describe.each([
  ['h1', '1.1'],
  ['h2', '2.0'],
] as const)('the floor over %s', (protocol, version) => {
  it('answers each change with one PATCH, and does nothing else', async () => {
    const { access, seen } = await serve(protocol, 2, 1);
    await runFloor(access, { protocol, concurrency: 1, namespace: 'n', fan: 0 }, () => {});
    expect(seen.requests).toEqual([
      'GET /api/v1/namespaces/n/configmaps',
      'GET /api/v1/namespaces/n/configmaps?watch',
      'PATCH /apis/apps/v1/namespaces/n/deployments/app-1',
      'PATCH /apis/apps/v1/namespaces/n/deployments/app-2',
    ]);
    expect([...seen.versions]).toEqual([version]);
    // A body that is not new would be no change, and a floor without a rollout.
    expect(seen.bodies.size).toBe(2);
  });

  it('sends as many at a time as it says, to every workload once for each change', async () => {
    const { access, seen } = await serve(protocol, 2 * 10, 4);
    await runFloor(access, { protocol, concurrency: 4, namespace: 'n', fan: 10 }, () => {});
    const patched = seen.requests.filter((request) => request.startsWith('PATCH')).sort();
    const names = Array.from({ length: 10 }, (_, index) => `PATCH /apis/apps/v1/namespaces/n/deployments/app-${index}`);
    expect(patched).toEqual([...names, ...names].sort());
    expect(seen.mostAtOnce).toBe(4);
  });
});
