import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, test } from 'vitest';
import { connectProxy } from '../../../test/support/connect-proxy.ts';
import { selfSigned } from '../../../test/support/self-signed.ts';
import { virtualClock } from '../../../test/support/virtual-clock.ts';
import { type ConnectOptions, connect } from './connection.ts';

const cleanUp: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanUp.splice(0)) await clean();
});

const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
/** A token that ends so many seconds after the epoch. */
const idToken = (exp: number) => `${part({ alg: 'none' })}.${part({ exp })}.`;

interface CallContext {
  readonly authorization: string | undefined;
  readonly form: Readonly<Record<string, string>>;
}

/** An OpenID issuer whose answers to refresh tokens are these, one after the other, and then a refusal. */
async function issuer(answers: readonly object[], about: object = {}, name = 'localhost') {
  const own = selfSigned(name);
  const asked: CallContext[] = [];
  const server = createServer(own, async (request, response) => {
    const form = Object.fromEntries(new URLSearchParams(await text(request)));
    if (request.method === 'GET' && request.url === '/realm/.well-known/openid-configuration') {
      response.end(JSON.stringify({ token_endpoint: `${url}/token`, ...about }));
      return;
    }
    const answer = answers[asked.length];
    asked.push({ authorization: request.headers.authorization, form });
    response.writeHead(answer ? 200 : 400).end(JSON.stringify(answer ?? { error: 'hunter2' }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanUp.push(() => server.close());
  const { port } = server.address() as AddressInfo;
  const url = `https://${name}:${port}/realm`;
  return { asked, url, port, authority: Buffer.from(own.cert).toString('base64') };
}

async function connected(provider: object, env: ConnectOptions['env'] = {}) {
  const dir = await mkdtemp(join(tmpdir(), 'oidc-'));
  cleanUp.push(() => rm(dir, { recursive: true }));
  const kubeconfig = {
    'current-context': 'x',
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    clusters: [{ name: 'c', cluster: { server: 'https://a' } }],
    users: [{ name: 'u', user: { 'auth-provider': provider } }],
  };
  await writeFile(join(dir, 'config'), JSON.stringify(kubeconfig));
  const clock = virtualClock();
  const { authorization } = await connect({ kubeconfig: join(dir, 'config'), env, clock });
  return { clock, authorization };
}

const oidc = (from: { readonly url: string; readonly authority: string }, config: object = {}) => ({
  name: 'oidc',
  config: {
    'client-id': 'attune',
    'id-token': idToken(0),
    'idp-certificate-authority-data': from.authority,
    'idp-issuer-url': from.url,
    'refresh-token': 'r1',
    ...config,
  },
});
const form = { grant_type: 'refresh_token', refresh_token: 'r1', client_id: 'attune' };

test('the token of the kubeconfig is used until shortly before its end, then it is refreshed once', async () => {
  const from = await issuer([{ id_token: idToken(7200) }]);
  const { clock, authorization } = await connected(oidc(from, { 'id-token': idToken(3600) }));
  clock.advance(3_569_999);
  expect(authorization()).toBe(`Bearer ${idToken(3600)}`);
  expect(from.asked).toEqual([]);
  clock.advance(1);
  expect(await Promise.all([authorization(), authorization()])).toEqual(Array(2).fill(`Bearer ${idToken(7200)}`));
  expect(authorization()).toBe(`Bearer ${idToken(7200)}`);
  expect(from.asked).toEqual([{ authorization: undefined, form }]);
});

test('it is refreshed with the last refresh token that was given, also after a refusal', async () => {
  const from = await issuer([
    { id_token: idToken(60), refresh_token: 'r2' },
    { id_token: idToken(120) },
    { id_token: idToken(180) },
  ]);
  const { clock, authorization } = await connected(oidc(from));
  clock.advance(30_000);
  expect(await authorization()).toBe(`Bearer ${idToken(120)}`);
  expect(await authorization(true)).toBe(`Bearer ${idToken(180)}`);
  expect(from.asked.map((asked) => asked.form['refresh_token'])).toEqual(['r1', 'r2', 'r2']);
});

test.each([
  ['in the header', {}, { authorization: `Basic ${Buffer.from('attune:s%2Fx').toString('base64')}`, form }],
  [
    'in the form where the issuer wants it there',
    { token_endpoint_auth_methods_supported: ['client_secret_post'] },
    { authorization: undefined, form: { ...form, client_secret: 's/x' } },
  ],
])('the secret of the client is sent %s', async (_, about, expected) => {
  const from = await issuer([{ id_token: idToken(60) }], about);
  await connected(oidc(from, { 'client-secret': 's/x' }));
  expect(from.asked).toEqual([expected]);
});

test('the issuer is reached through the proxy of the environment', async () => {
  const from = await issuer([{ id_token: idToken(60) }], {}, 'issuer.test');
  const { server: proxy, asked } = connectProxy(from.port);
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  cleanUp.push(() => proxy.close());
  const env = { HTTPS_PROXY: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` };
  const { authorization } = await connected(oidc(from), env);
  expect(await authorization()).toBe(`Bearer ${idToken(60)}`);
  const target = `issuer.test:${from.port}`;
  expect(asked).toEqual(Array(2).fill({ target, credentials: undefined }));
  expect(from.asked).toEqual([{ authorization: undefined, form }]);
});

describe('a token that cannot be had: said with the way out, and without a word of the issuer', () => {
  test.each([
    ['it is refused', [], {}, /cannot be refreshed: localhost:\d+ answered 400; log in again/],
    ['it is none', [{ access_token: 'hunter2' }], {}, /the OIDC issuer gave no ID token; log in again/],
    ['there is no refresh token', [], { 'refresh-token': '' }, /there is no refresh token .*; log in again/],
    ['the issuer is no URL', [], { 'idp-issuer-url': 'hunter2' }, /the issuer is no URL/],
    ['the issuer is not there', [], { 'idp-issuer-url': 'http://127.0.0.1:1' }, /127.0.0.1:1 does not answer \(ECONN/],
    ['nobody vouches for the issuer', [], { 'idp-certificate-authority-data': '' }, /does not answer \(.*SELF_SIGNED/],
  ])('%s', async (_, answers, config, message) => {
    const failure = await connected(oidc(await issuer(answers), config)).catch((error: unknown) => error);
    expect(String(failure)).toMatch(/config: user "u": /);
    expect(String(failure)).toMatch(message);
    expect(String(failure)).not.toContain('hunter2');
  });

  test('the provider is one that is gone', async () => {
    await expect(connected({ name: 'gcp', config: { 'access-token': 'hunter2' } })).rejects.toThrow(
      /config: user "u" has the auth provider "gcp", which kubectl no longer knows either; use the exec plugin/,
    );
  });
});
