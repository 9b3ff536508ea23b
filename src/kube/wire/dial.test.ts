import { once } from 'node:events';
import { type AddressInfo, connect, isIP } from 'node:net';
import { createServer, type TLSSocket } from 'node:tls';
import { describe, expect, onTestFinished, test } from 'vitest';
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

describe('the server is told whom we want, and has to be that one', () => {
  /** What a server with this certificate heard by SNI, or why it is taken for another one. */
  async function dialed(server: string, tls: TlsOptions, certified: string) {
    const own = selfSigned(certified);
    const listener = createServer(own).on('tlsClientError', () => {});
    listener.listen(0, '127.0.0.1');
    await once(listener, 'listening');
    onTestFinished(() => void listener.close());
    const arrived = new Promise<TLSSocket>((resolve) => listener.once('secureConnection', resolve));
    const way = connect((listener.address() as AddressInfo).port, '127.0.0.1');
    const socket = dialer({ server: new URL(server), tls: () => ({ ca: own.cert, ...tls }) })(way);
    onTestFinished(() => void socket.destroy());
    const refusal = await once(socket, 'secureConnect').catch((error: NodeJS.ErrnoException) => error);
    return 'code' in refusal ? refusal.code : (await arrived).servername;
  }

  test.each([
    ['its name', 'https://api.test', {}, 'api.test'],
    ['its name with a dot at the end', 'https://api.test.:6443', {}, 'api.test'],
    ['its address', 'https://10.0.0.1', {}, '10.0.0.1'],
    ['tls-server-name', 'https://10.0.0.1', { servername: 'api.test' }, 'api.test'],
    ['tls-server-name with a dot at the end', 'https://10.0.0.1', { servername: 'api.test.' }, 'api.test'],
    ['an address as tls-server-name', 'https://api.test', { servername: '10.0.0.2' }, '10.0.0.2'],
  ])('%s', async (_, server, tls, certified) => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error) => warnings.push(warning);
    process.on('warning', onWarning);
    onTestFinished(() => void process.off('warning', onWarning));
    expect(await dialed(server, tls, certified)).toBe(isIP(certified) === 0 && certified);
    expect(await dialed(server, tls, 'other.test')).toBe('ERR_TLS_CERT_ALTNAME_INVALID');
    expect(warnings).toEqual([]);
  });
});
