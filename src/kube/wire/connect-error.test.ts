import { once } from 'node:events';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { selfSigned } from '../../../test/support/self-signed.ts';
import { CONFIG_MAPS } from '../../api/resources.ts';
import type { TlsOptions } from '../auth/connection.ts';
import { KubeClient } from '../client.ts';

async function listen(server: Server): Promise<number> {
  server.on('connection', (socket) => onTestFinished(() => void socket.destroy()));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** What is said when somebody asks there. */
async function failureAt(server: string, tls: TlsOptions = {}, idleMs = 10_000): Promise<string> {
  const connection = { server: new URL(server), tls: () => tls, authorization: () => undefined };
  const client = new KubeClient(connection, { idleMs });
  onTestFinished(() => client.close());
  const error = await client.get(CONFIG_MAPS, { name: 'a' }).catch((cause: unknown) => cause);
  return (error as Error).message.replace('get /api/v1/configmaps/a: ', '');
}

test('nobody listens there', async () => {
  const server = createServer();
  const port = await listen(server);
  server.close();
  expect(await failureAt(`https://127.0.0.1:${port}`)).toBe(
    `Unreachable: 127.0.0.1:${port}: the connection was refused (ECONNREFUSED); is it running, and is this its port?`,
  );
});

test('a host that there is not', async () => {
  expect(await failureAt('https://attune.invalid')).toMatch(
    /^Unreachable: attune\.invalid:443: (there is no|no DNS server tells where) host attune\.invalid/,
  );
});

test('a server that says nothing', async () => {
  const port = await listen(createServer((socket) => void socket.resume()));
  expect(await failureAt(`http://127.0.0.1:${port}`, {}, 50)).toBe(
    `Silent: 127.0.0.1:${port} has said nothing for 0.05 s`,
  );
});

test('a server that hangs up', async () => {
  const port = await listen(createServer((socket) => socket.destroy()));
  expect(await failureAt(`http://127.0.0.1:${port}`)).toContain(
    `Unreachable: 127.0.0.1:${port}: the connection was closed`,
  );
});

test('a server without TLS', async () => {
  const port = await listen(createServer((socket) => void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')));
  expect(await failureAt(`https://127.0.0.1:${port}`)).toContain('it does not speak TLS');
});

const good = selfSigned('localhost');
const old = selfSigned('localhost', '200101000000Z');
const other = selfSigned('other.test');
test.each([
  [
    'of an authority that we do not know',
    good,
    {},
    /its certificate is not trusted \(\w+\); see whether the kubeconfig's/,
  ],
  ['that has expired', old, { ca: old.cert }, /its certificate has expired \(CERT_HAS_EXPIRED\); renew it/],
  ['for another name', other, { ca: other.cert }, /its certificate is for other names \(.*\); use one of those/],
])('a certificate %s', async (_, own, tls, words) => {
  const port = await listen(createHttpsServer(own));
  const said = await failureAt(`https://localhost:${port}`, tls);
  expect(said).toMatch(words);
  expect(said).toContain(`Unreachable: localhost:${port}: `);
});
