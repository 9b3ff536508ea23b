import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer, type TLSSocket } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { selfSigned } from '../../../test/support/self-signed.ts';
import type { TlsOptions } from '../auth/connection.ts';
import { dialer } from './dial.ts';

const connectionWith = (tls: TlsOptions) => ({ server: new URL('https://127.0.0.1:1'), tls: () => tls });

test.each([
  ['certificate', { cert: 'hello', key: 'hello' }],
  ['key', { key: 'hello' }],
])('a client %s that is none is told at once, and what was expected', (_what, tls) => {
  expect(() => dialer(connectionWith(tls))).toThrow(/client certificate or client key .* cannot be used; expected PEM/);
});

test('a renewed certificate is shown as soon as its key fits; until then the old one', async () => {
  const server = createServer({ ...selfSigned('localhost'), requestCert: true, rejectUnauthorized: false });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  let tls: TlsOptions = {};
  const renew = (proof: TlsOptions) => {
    tls = { ...proof, rejectUnauthorized: false };
  };
  const one = selfSigned('one');
  const two = selfSigned('two');
  renew(one);
  const dial = dialer({ server: new URL(`https://127.0.0.1:${port}`), tls: () => tls });
  const shown = async () => {
    const arrived = once(server, 'secureConnection');
    const socket = dial();
    const [peer] = (await arrived) as [TLSSocket];
    const name = peer.getPeerCertificate().subject.CN;
    peer.destroy();
    socket.destroy();
    return name;
  };
  expect(await shown()).toBe('one');
  renew({ cert: two.cert, key: one.key });
  expect(await shown()).toBe('one');
  renew(two);
  expect(await shown()).toBe('two');
});
