import { expect, test } from 'vitest';
import { environmentProxy } from './environment-proxy.ts';

const proxyFor = (server: string, env: Readonly<Record<string, string>>) =>
  environmentProxy(new URL(server), env)?.href;

test.each([
  ['https://a', { HTTPS_PROXY: 'http://p:3128' }, 'http://p:3128/'],
  ['https://a', { https_proxy: 'http://p:3128' }, 'http://p:3128/'],
  ['https://a', { HTTPS_PROXY: 'p:3128' }, 'http://p:3128/'],
  ['https://a', { HTTPS_PROXY: '', https_proxy: 'socks5://p:1' }, 'socks5://p:1'],
  ['https://a', { HTTP_PROXY: 'http://p' }, undefined],
  ['http://a', { HTTP_PROXY: 'http://p' }, 'http://p/'],
  ['http://a', { HTTPS_PROXY: 'http://p' }, undefined],
  ['https://localhost:6443', { HTTPS_PROXY: 'http://p' }, undefined],
  ['https://127.8.0.1', { HTTPS_PROXY: 'http://p' }, undefined],
  ['https://[::1]:6443', { HTTPS_PROXY: 'http://p' }, undefined],
  ['https://a', {}, undefined],
])('%s with %o goes through %s', (server, env, expected) => {
  expect(proxyFor(server, env)).toBe(expected);
});

test.each([
  ['https://api.corp', '*', true],
  ['https://api.corp', 'corp', true],
  ['https://api.corp', 'other, api.CORP', true],
  ['https://api.corp', '.corp', true],
  ['https://api.corp', '*.corp', true],
  ['https://corp', '.corp', false],
  ['https://api.xcorp', 'corp', false],
  ['https://api.corp:6443', 'api.corp:6443', true],
  ['https://api.corp:6443', 'api.corp:443', false],
  ['https://api.corp', 'api.corp:443', true],
  ['https://10.0.0.1', '10.0.0.0/8', true],
  ['https://10.0.0.1', '10.0.0.1', true],
  ['https://10.0.0.1:6443', '10.0.0.1:6443', true],
  ['https://11.0.0.1', '10.0.0.0/8', false],
  ['https://10.0.0.1', '0.0.1', false],
  ['https://10.0.0.1', '10.0.0.0/99', false],
  ['https://10.0.0.1', '10.0.0.0/', false],
  ['https://10.0.0.1', '10.0.0.0/0x10', false],
  ['https://10.0.0.1', '10.0.0.0/ ,other', false],
  ['https://10.0.0.1', '10.0.0.0/ 8', false],
  ['https://10.0.0.1', '10.0.0.0/8/8', false],
  ['https://10.0.0.1', '0.0.0.0/0', true],
  ['https://[fd00::1]', 'fd00::/8', true],
  ['https://[fd00::1]', '10.0.0.0/8', false],
  ['https://[fd00::1]:6443', '[fd00::1]:6443', true],
  ['https://[fd00::1]:6443', '[fd00:0::1]:6443', true],
  ['https://[fd00::1]:6443', '[FD00:0::1]', true],
  ['https://[fd00::1]:6443', '[fd00:0::1]:443', false],
  ['https://[fd00::1]:6443', '[fd00::2]:6443', false],
  ['https://a', ',', false],
])('%s is held by NO_PROXY=%s: %s', (server, except, held) => {
  expect(proxyFor(server, { HTTPS_PROXY: 'http://p', NO_PROXY: except }) === undefined).toBe(held);
});

test('what is no proxy is refused without being quoted', () => {
  const failure = () => proxyFor('https://a', { HTTPS_PROXY: 'ftp://hunter2@p' });
  expect(failure).toThrow(/^\$HTTPS_PROXY is no proxy; expected a URL like http:\/\/host:3128$/);
});
