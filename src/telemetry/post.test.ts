import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import tls from 'node:tls';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { selfSigned } from '../../test/support/self-signed.ts';
import { post } from './post.ts';

const open: (http.Server | net.Server)[] = [];
const sockets = new Set<net.Socket>();
const trusted = tls.getCACertificates('default');
const certificate = selfSigned('localhost');

beforeAll(() => tls.setDefaultCACertificates([...trusted, certificate.cert]));
afterAll(() => tls.setDefaultCACertificates(trusted));
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  for (const server of open.splice(0)) await new Promise((resolve) => server.close(resolve));
});

async function listen(server: http.Server | net.Server): Promise<number> {
  open.push(server);
  server.on('connection', (socket: net.Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as net.AddressInfo).port;
}

interface Seen {
  readonly line: string;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
}

/** Notes what it is asked, and answers as told. */
function noting(
  seen: Seen[],
  answer: http.RequestListener = (_, response) => void response.end('fine'),
): http.RequestListener {
  return (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const line = `${request.method} ${request.url}`;
      seen.push({ line, headers: request.headers, body: Buffer.concat(chunks).toString() });
      answer(request, response);
    });
  };
}

const send = (url: string, options: { proxy?: string; timeoutMs?: number; signal?: AbortSignal } = {}) =>
  post({
    url: new URL(url),
    proxy: options.proxy === undefined ? undefined : new URL(options.proxy),
    contentType: 'text/plain',
    body: 'häuser',
    timeoutMs: options.timeoutMs ?? 5000,
    signal: options.signal ?? new AbortController().signal,
  });

test('one POST with path, query, length and credentials, on a connection of its own', async () => {
  const seen: Seen[] = [];
  const port = await listen(http.createServer(noting(seen)));
  const answer = await send(`http://me:p%40ss@127.0.0.1:${port}/a/b?c=d`);
  expect(answer).toEqual({ status: 200, body: 'fine', retryAfterMs: undefined });
  expect(seen).toMatchObject([{ line: 'POST /a/b?c=d', body: 'häuser' }]);
  expect(seen[0]?.headers).toEqual({
    host: `127.0.0.1:${port}`,
    'content-type': 'text/plain',
    'content-length': '7',
    authorization: `Basic ${Buffer.from('me:p@ss').toString('base64')}`,
    connection: 'close',
  });
});

test('https, with the certificate checked', async () => {
  const seen: Seen[] = [];
  const port = await listen(https.createServer(certificate, noting(seen)));
  expect(await send(`https://localhost:${port}/x`)).toMatchObject({ status: 200 });
  await expect(send(`https://127.0.0.1:${port}/x`)).rejects.toThrow(/altnames/);
  expect(seen).toHaveLength(1);
});

test('a redirect is an answer like any other, and is not followed', async () => {
  const seen: Seen[] = [];
  const port = await listen(
    http.createServer(noting(seen, (_, response) => void response.writeHead(307, { location: '/elsewhere' }).end())),
  );
  expect(await send(`http://127.0.0.1:${port}/`)).toMatchObject({ status: 307 });
  expect(seen).toHaveLength(1);
});

test('of an endless answer only the beginning is read', async () => {
  const port = await listen(
    http.createServer((_, response) => {
      const more = (): void => {
        while (!response.destroyed && response.write('x'.repeat(10_000)));
      };
      response.on('drain', more);
      more();
    }),
  );
  const { status, body } = await send(`http://127.0.0.1:${port}/`);
  expect([status, body]).toEqual([200, 'x'.repeat(1024)]);
});

test('an answer that breaks off is still an answer', async () => {
  const port = await listen(
    net.createServer((socket) => void socket.end('HTTP/1.1 503 x\r\nretry-after: 7\r\ncontent-length: 99\r\n\r\npart')),
  );
  expect(await send(`http://127.0.0.1:${port}/`)).toEqual({ status: 503, body: 'part', retryAfterMs: 7000 });
});

test('silence ends with the time-out, and names no more than the host', async () => {
  const port = await listen(http.createServer(() => {}));
  await expect(send(`http://127.0.0.1:${port}/secret`, { timeoutMs: 50 })).rejects.toThrow(
    `no answer from 127.0.0.1:${port} within 50 ms`,
  );
});

test('the caller can give up', async () => {
  const port = await listen(http.createServer(() => {}));
  const abort = new AbortController();
  const answer = send(`http://127.0.0.1:${port}/`, { signal: abort.signal });
  abort.abort();
  await expect(answer).rejects.toThrow(/abort/i);
});

test('nobody there: the error does not tell the secret part of the URL', async () => {
  const port = await listen(net.createServer());
  await new Promise((resolve) => open.pop()?.close(resolve));
  const failure = await send(`http://me:hunter2@127.0.0.1:${port}/hunter2`).catch(String);
  expect(failure).toMatch(/ECONNREFUSED/);
  expect(failure).not.toContain('hunter2');
});

test('a plain target behind a proxy is asked for by its whole address', async () => {
  const seen: Seen[] = [];
  const port = await listen(http.createServer(noting(seen)));
  await send('http://hooks.example/a?b', { proxy: `http://me:pw@127.0.0.1:${port}` });
  expect(seen).toMatchObject([
    { line: 'POST http://hooks.example/a?b', headers: { host: 'hooks.example' }, body: 'häuser' },
  ]);
  expect(seen[0]?.headers['proxy-authorization']).toBe(`Basic ${Buffer.from('me:pw').toString('base64')}`);
});

test('an https target behind a proxy gets a tunnel, and the proxy sees nothing but its name', async () => {
  const seen: Seen[] = [];
  const target = await listen(https.createServer(certificate, noting(seen)));
  const tunnels: string[] = [];
  const proxy = http.createServer().on('connect', (request: http.IncomingMessage, client: net.Socket) => {
    tunnels.push(`${request.url} ${request.headers['proxy-authorization']}`);
    const upstream = net.connect(target, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 ok\r\n\r\n');
      upstream.pipe(client).pipe(upstream);
    });
  });
  const port = await listen(proxy);
  expect(await send(`https://localhost:${target}/x`, { proxy: `http://me:pw@127.0.0.1:${port}` })).toMatchObject({
    status: 200,
  });
  expect(tunnels).toEqual([`localhost:${target} Basic ${Buffer.from('me:pw').toString('base64')}`]);
  expect(seen).toMatchObject([{ line: 'POST /x', headers: { host: `localhost:${target}` }, body: 'häuser' }]);
  expect(seen[0]?.headers).not.toHaveProperty('proxy-authorization');
});

test('a proxy that refuses the tunnel, or says nothing', async () => {
  const refusing = await listen(
    http.createServer().on('connect', (_: unknown, client: net.Socket) => void client.end('HTTP/1.1 403 no\r\n\r\n')),
  );
  await expect(send('https://localhost:1/x', { proxy: `http://127.0.0.1:${refusing}` })).rejects.toThrow(
    `the proxy 127.0.0.1:${refusing} answered 403`,
  );
  const silent = await listen(net.createServer((socket) => void socket.resume()));
  await expect(send('https://localhost:1/x', { proxy: `http://127.0.0.1:${silent}`, timeoutMs: 50 })).rejects.toThrow(
    'no answer from localhost:1 within 50 ms',
  );
});
