import { type AddressInfo, createServer, type Server } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { socksProxy } from '../../../test/support/socks-proxy.ts';
import { socksTunnel } from './socks-tunnel.ts';

const cleanUp: (() => void)[] = [];
afterEach(() => {
  for (const clean of cleanUp.splice(0)) clean();
});

async function listen(server: Server): Promise<number> {
  server.on('connection', (socket) => void cleanUp.push(() => socket.destroy()));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanUp.push(() => server.close());
  return (server.address() as AddressInfo).port;
}

const greeting = () => listen(createServer((socket) => void socket.write('hello')));

/** What comes through a tunnel to a server of this name. */
async function through(scheme: string, { login = '', wanted, host = 'localhost' }: Way = {}) {
  const { server, asked } = socksProxy(await greeting(), wanted);
  const url = new URL(`${scheme}://${login && `${login}@`}127.0.0.1:${await listen(server)}`);
  const socket = await socksTunnel(url, { host, port: 6443 })();
  cleanUp.push(() => socket.destroy());
  const said = await new Promise((resolve) => socket.once('data', (data) => resolve(String(data))));
  return { said, asked };
}

interface Way {
  readonly login?: string;
  /** What the proxy demands. */
  readonly wanted?: string;
  readonly host?: string;
}

test.each([
  ['socks', 'localhost:6443'],
  ['socks5', 'localhost:6443'],
  ['socks5h', 'localhost:6443'],
  ['socks4a', 'localhost:6443'],
  ['socks4', '127.0.0.1:6443'],
])('%s asks the proxy for %s', async (scheme, target) => {
  expect(await through(scheme)).toEqual({ said: 'hello', asked: [{ target }] });
});

test.each(['socks5', 'socks4a'])('%s to an address', async (scheme) => {
  expect((await through(scheme, { host: '10.0.0.1' })).asked).toEqual([{ target: '10.0.0.1:6443' }]);
});

test.each([
  ['socks5', 'me:p%40ss', 'me:p@ss'],
  ['socks5', 'me', 'me:'],
  ['socks4', 'me', 'me'],
  ['socks4a', 'me:p%40ss', 'me'],
])('%s with the credentials %s', async (scheme, login, credentials) => {
  const { said, asked } = await through(scheme, { login, wanted: credentials });
  expect([said, asked]).toEqual(['hello', [expect.objectContaining({ credentials })]]);
});

test.each([
  ['socks5', 'me:hunter2', 'Socks5 Authentication failed; it wants other credentials'],
  ['socks5', '', '(no accepted authentication type); it wants other credentials'],
  ['socks4', 'hunter2', 'Socks4 Proxy rejected connection - (RejectedIdent); it wants other credentials'],
])('%s with the wrong credentials "%s": nothing of them is in the error', async (scheme, login, words) => {
  const error = await through(scheme, { login, wanted: 'you:other' }).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ message: expect.stringContaining(words) });
  const told = `${(error as Error).stack} ${JSON.stringify(Object.entries(error as Error))} ${(error as Error).cause}`;
  expect(told).not.toContain('hunter2');
});

test('a proxy that is not there', async () => {
  const port = await listen(createServer());
  for (const clean of cleanUp.splice(0)) clean();
  const open = socksTunnel(new URL(`socks5://me:hunter2@localhost:${port}`), { host: 'a', port: 1 });
  await expect(open()).rejects.toThrow(
    new RegExp(`^the proxy localhost:${port}: the connection was refused \\(ECONNREFUSED\\); is it running`),
  );
});

test('a proxy that says nothing', async () => {
  const port = await listen(createServer());
  const open = socksTunnel(new URL(`socks5://127.0.0.1:${port}`), { host: 'a', port: 1 });
  await expect(open(50)).rejects.toThrow(`the proxy 127.0.0.1:${port}: Proxy connection timed out`);
});

test('credentials that are too long for the protocol are refused before anything is sent, and not quoted', () => {
  const url = new URL(`socks5://me:${'x'.repeat(256)}@127.0.0.1`);
  expect(() => socksTunnel(url, { host: 'a', port: 1 })).toThrow(
    /^the user name or password for the proxy 127.0.0.1:1080 has more than 255 bytes$/,
  );
});
