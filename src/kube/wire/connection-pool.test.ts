import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { afterEach, expect, test, vi } from 'vitest';
import { eventually } from '../../../test/support/eventually.ts';
import { ConnectionPool } from './connection-pool.ts';
import { Exchange } from './exchange.ts';

const cleanUp: (() => void)[] = [];
afterEach(() => {
  vi.useRealTimers();
  for (const clean of cleanUp.splice(0)) clean();
});

const get = () => new Exchange({ method: 'GET', path: '/', headers: {}, body: undefined }, 60_000, 60_000);

/** A server that accepts connections and does with them only what it is told. */
async function listen(): Promise<{ readonly port: number; readonly server: Server }> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    cleanUp.push(() => socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanUp.push(() => server.close());
  return { server, port: (server.address() as AddressInfo).port };
}

const endpoint = { name: 'api.test:6443', trustHint: '' };

function wire(dial: ConstructorParameters<typeof ConnectionPool>[0], maxSockets: number): ConnectionPool {
  const lines = new ConnectionPool(dial, endpoint, maxSockets);
  cleanUp.push(() => lines.close());
  return lines;
}

test('a handshake that hangs has a limit of its own', async () => {
  const { port } = await listen();
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const exchange = get();
  wire(() => connectTls({ host: '127.0.0.1', port }), 1).send(exchange);
  const failed = expect(exchange.answered).rejects.toThrow('no connection to api.test:6443 within 10 s');
  vi.advanceTimersByTime(10_000);
  await failed;
});

test('which ends with it: an answer may take longer', async () => {
  const { port, server } = await listen();
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const accepted = new Promise<import('node:net').Socket>((resolve) => server.once('connection', resolve));
  const exchange = get();
  wire(() => connect({ host: '127.0.0.1', port }), 1).send(exchange);
  const socket = await accepted;
  await eventually(() => vi.getTimerCount()).toBe(0);
  vi.advanceTimersByTime(10_000);
  socket.write('HTTP/1.1 204 No Content\r\n\r\n');
  expect((await exchange.answered).status).toBe(204);
});

test('who cannot even begin to connect fails, and so do those who wait for a connection', async () => {
  const { port, server } = await listen();
  let dials = 0;
  const lines = wire(() => {
    dials += 1;
    if (dials > 1) throw Object.assign(new Error('the key is hunter2'), { code: 'ENOENT' });
    return connect({ host: '127.0.0.1', port });
  }, 1);
  const accepted = new Promise<import('node:net').Socket>((resolve) => server.once('connection', resolve));
  const exchanges = [get(), get(), get()];
  const failures = exchanges.map((exchange) => exchange.answered.catch((error: Error) => error.message));
  for (const exchange of exchanges) lines.send(exchange);
  (await accepted).destroy();
  expect((await Promise.all(failures)).slice(1)).toEqual(
    Array(2).fill('api.test:6443: the connection failed (ENOENT)'),
  );
});

test('what a burst needed is closed when it is over, and a few connections are kept', async () => {
  const { port, server } = await listen();
  server.on('connection', (socket) => socket.on('data', () => socket.write('HTTP/1.1 204 No Content\r\n\r\n')));
  const lines = wire(() => connect({ host: '127.0.0.1', port }), 100);
  const connections = () => new Promise((resolve) => server.getConnections((_, count) => resolve(count)));
  const burst = Array.from({ length: 30 }, get);
  for (const exchange of burst) lines.send(exchange);
  await Promise.all(burst.map(({ answered }) => answered));
  expect(await connections()).toBe(30);
  await eventually(connections).toBe(8);
  const next = get();
  lines.send(next);
  expect((await next.answered).status).toBe(204);
  expect(next.isReused).toBe(true);
});
