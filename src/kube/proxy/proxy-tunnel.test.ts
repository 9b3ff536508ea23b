import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer, type IncomingMessage } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { connectProxy } from '../../../test/support/connect-proxy.ts';
import { eventually } from '../../../test/support/eventually.ts';
import { selfSigned } from '../../../test/support/self-signed.ts';
import { socksProxy } from '../../../test/support/socks-proxy.ts';
import { virtualClock } from '../../../test/support/virtual-clock.ts';
import { CONFIG_MAPS } from '../../api/resources.ts';
import { type ConnectOptions, connect } from '../auth/connection.ts';
import { KubeClient } from '../client.ts';
import { proxyTunnel } from './proxy-tunnel.ts';

let dir: string;
const cleanUp: (() => unknown)[] = [];
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'proxy-tunnel-'));
  cleanUp.push(() => rm(dir, { recursive: true }));
});
afterEach(async () => {
  for (const clean of cleanUp.splice(0).reverse()) await clean();
});

async function listen(server: Server): Promise<number> {
  server.on('connection', (socket) => {
    socket.on('error', () => {});
    cleanUp.push(() => socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanUp.push(() => server.close());
  return (server.address() as AddressInfo).port;
}

/** A proxy that leads everything to one port, and what it was asked for. */
async function proxyTo(port: number) {
  const { server, asked } = connectProxy(port);
  return { asked, proxy: `127.0.0.1:${await listen(server)}` };
}

async function clientFor(cluster: object, user: object, options: Partial<ConnectOptions> = {}, idleMs = 10_000) {
  const config = {
    'current-context': 'x',
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    clusters: [{ name: 'c', cluster }],
    users: [{ name: 'u', user }],
  };
  await writeFile(join(dir, 'config'), JSON.stringify(config));
  const connection = await connect({ kubeconfig: join(dir, 'config'), env: {}, ...options });
  const client = new KubeClient(connection, { idleMs });
  cleanUp.push(() => client.close());
  return () => client.get(CONFIG_MAPS, { namespace: 'a', name: 'b' });
}

/** An API server that says who asks. */
async function apiServer() {
  const seen: string[] = [];
  const own = selfSigned('api.test');
  const server = createHttpsServer({ ...own, requestCert: true, rejectUnauthorized: false }, (request, response) => {
    const { subject } = (request.socket as TLSSocket).getPeerCertificate();
    seen.push(`${subject?.CN} ${request.headers.authorization}`);
    response.end('{}');
  });
  await writeFile(join(dir, 'ca.crt'), own.cert);
  return { seen, port: await listen(server) };
}

const writePair = ({ cert, key }: ReturnType<typeof selfSigned>) =>
  Promise.all([writeFile(join(dir, 'tls.crt'), cert), writeFile(join(dir, 'tls.key'), key)]);

test('token file and certificates are used through a proxy, too, and the renewed ones on new connections', async () => {
  const clock = virtualClock();
  const { seen, port } = await apiServer();
  const { asked, proxy } = await proxyTo(port);
  await writePair(selfSigned('one'));
  await writeFile(join(dir, 'token'), 't1');
  const cluster = {
    server: 'https://api.test:6443',
    'certificate-authority': 'ca.crt',
    'proxy-url': `http://${proxy}`,
  };
  const user = { tokenFile: 'token', 'client-certificate': 'tls.crt', 'client-key': 'tls.key' };
  const get = await clientFor(cluster, user, { clock });
  await get();
  await get();
  expect(seen).toEqual(['one Bearer t1', 'one Bearer t1']);
  expect(asked).toEqual([{ target: 'api.test:6443', credentials: undefined }]);
  await writePair(selfSigned('two'));
  await writeFile(join(dir, 'token'), 't2');
  clock.advance(60_000);
  await Promise.all([get(), get()]);
  expect(seen.slice(2).sort()).toEqual(['one Bearer t2', 'two Bearer t2']);
});

test('an IPv6 server has its brackets; who is to be shown to the proxy is', async () => {
  const { asked, proxy } = await proxyTo(await listen(createHttpServer((_, response) => response.end('{}'))));
  const get = await clientFor({ server: 'http://[fd00::1]:6443', 'proxy-url': `http://me:p%40ss@${proxy}` }, {});
  await get();
  const credentials = `Basic ${Buffer.from('me:p@ss').toString('base64')}`;
  expect(asked).toEqual([{ target: '[fd00::1]:6443', credentials }]);
});

test('a proxy that refuses is told apart from a server that does', async () => {
  const port = await listen(
    createServer((socket) => void socket.once('data', () => socket.end('HTTP/1.1 407 No\r\n\r\n'))),
  );
  const get = await clientFor({ server: 'https://a', 'proxy-url': `http://me:hunter2@127.0.0.1:${port}` }, {});
  await expect(get()).rejects.toThrow(
    `get /api/v1/namespaces/a/configmaps/b: Unreachable: the proxy 127.0.0.1:${port} answered 407; it wants other credentials`,
  );
});

test('a proxy that says nothing is given up', async () => {
  const port = await listen(createServer((socket) => void socket.resume()));
  const get = await clientFor({ server: 'https://a', 'proxy-url': `http://127.0.0.1:${port}` }, {}, {}, 20);
  await expect(get()).rejects.toThrow(/the proxy 127\.0\.0\.1:\d+ says nothing/);
});

test.each(['http', 'socks5h'])('a proxy that is not there is named, and its password is not: %s', async (scheme) => {
  const server = createServer();
  const port = await listen(server);
  server.close();
  const get = await clientFor({ server: 'https://a', 'proxy-url': `${scheme}://me:hunter2@127.0.0.1:${port}` }, {});
  const error = await get().catch((cause: unknown) => cause);
  expect(String(error)).toMatch(/Unreachable: the proxy 127\.0\.0\.1:\d+: the connection was refused \(ECONNREFUSED\)/);
  expect(String(error)).not.toContain('hunter2');
});

test('behind a proxy the server is named, and the way to it', async () => {
  const { proxy } = await proxyTo(await listen(createServer((socket) => socket.destroy())));
  const get = await clientFor({ server: 'http://api.test', 'proxy-url': `http://me:hunter2@${proxy}` }, {});
  await expect(get()).rejects.toThrow(`Unreachable: api.test:80 through the proxy ${proxy}: the connection was closed`);
});

test('a proxy that the environment names is used where the kubeconfig names none', async () => {
  const { asked, proxy } = await proxyTo(await listen(createHttpServer((_, response) => response.end('{}'))));
  const env = { HTTP_PROXY: `http://${proxy}` };
  const get = await clientFor({ server: 'http://api.test:6443' }, {}, { env });
  await get();
  expect(asked).toEqual([{ target: 'api.test:6443', credentials: undefined }]);
});

test('a proxy with TLS shows a certificate of its own', async () => {
  const own = selfSigned('localhost');
  const asked: (string | undefined)[] = [];
  const names: string[] = [];
  const server = createHttpsServer({
    ...own,
    SNICallback(name, callback) {
      names.push(name);
      callback(null);
    },
  }).on('connect', ({ url }: IncomingMessage, client: Socket) => {
    asked.push(url);
    client.end('HTTP/1.1 403 No\r\n\r\n');
  });
  const get = await clientFor(
    { server: 'https://api.test', 'proxy-url': `https://localhost:${await listen(server)}` },
    {},
  );
  // Nobody vouches for it: the name is all that can be seen.
  await expect(get()).rejects.toThrow(
    /the proxy localhost:\d+: its certificate is not trusted \(\w+\); name the file of its .* NODE_EXTRA_CA_CERTS/,
  );
  expect({ names, asked }).toEqual({ names: ['localhost'], asked: [] });
});

test.each(['http', 'https', 'socks5', 'socks4'])(
  'a tunnel that is being opened ends when its call is called off, and at the end: %s',
  async (scheme) => {
    const asked: Socket[] = [];
    const silent = createServer((socket) => void asked.push(socket.resume()));
    const proxy = new URL(`${scheme}://127.0.0.1:${await listen(silent)}`);
    const server = new URL('http://127.0.0.1:6443');
    const connection = { server, tls: () => ({}), authorization: () => undefined };
    const client = new KubeClient({ ...connection, tunnel: await proxyTunnel(server, proxy) }, { maxSockets: 1 });
    const call = new AbortController();
    const get = (signal?: AbortSignal) => client.get(CONFIG_MAPS, { name: 'a' }, { signal }).catch(() => 'over');
    const calls = [get(call.signal), get()];
    await eventually(() => asked.length).toBe(1);
    call.abort();
    await eventually(() => asked.map(({ closed }) => closed)).toEqual([true, false]);
    client.close();
    await eventually(() => asked.map(({ closed }) => closed)).toEqual([true, true]);
    expect(await Promise.all(calls)).toEqual(['over', 'over']);
  },
);

test('a SOCKS proxy', async () => {
  const { seen, port } = await apiServer();
  const { server: socks, targets } = socksProxy(port);
  const cluster = { server: 'https://api.test:6443', 'certificate-authority': 'ca.crt' };
  const proxy = `socks5h://127.0.0.1:${await listen(socks)}`;
  const get = await clientFor({ ...cluster, 'proxy-url': proxy }, { token: 't' });
  await get();
  expect(targets).toEqual(['api.test:6443']);
  expect(seen).toEqual(['undefined Bearer t']);
});

test.each(['nowhere', 'ftp://hunter2@host'])(
  'a proxy-url that is none is refused without being quoted: %s',
  async (url) => {
    const failure = await clientFor({ server: 'https://a', 'proxy-url': url }, {}).catch((error: unknown) => error);
    expect(String(failure)).toMatch(/config: cluster "c" has no valid proxy-url; expected a URL like http:/);
    expect(String(failure)).not.toContain(url);
  },
);
