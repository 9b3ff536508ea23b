import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { kubeconfig, testFolder } from '../../../test/support/test-folder.ts';
import { type VirtualClock, virtualClock } from '../../../test/support/virtual-clock.ts';
import { connect } from './connection.ts';
import { tokenFromFile } from './token-file.ts';

const folder = testFolder('connection');

describe('where the connection comes from', () => {
  const pod = { KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '443' };

  test('the named kubeconfig, else $KUBECONFIG, else ~/.kube/config, else the pod', async () => {
    const named = await folder.file('named', kubeconfig('https://named'));
    const variable = await folder.file('variable', kubeconfig('https://variable'));
    await mkdir(join(folder.path, '.kube'));
    await folder.file('.kube/config', kubeconfig('https://home'));
    await folder.file('ca.crt', 'CA');
    await folder.file('token', 'pod-token\n');
    await folder.file('namespace', 'shop');
    const options = { serviceAccountDir: folder.path };
    const host = async (given: Parameters<typeof connect>[0]) => (await connect({ ...options, ...given })).server.host;
    const all = { ...pod, KUBECONFIG: variable, HOME: folder.path };
    expect(await host({ kubeconfig: named, env: all })).toBe('named');
    expect(await host({ env: all })).toBe('variable');
    expect(await host({ env: { ...all, KUBECONFIG: '' } })).toBe('home');
    expect(await host({ env: { ...pod, HOME: join(folder.path, 'nowhere') } })).toBe('10.0.0.1');
  });

  test('in a pod: token, authority and namespace of the ServiceAccount', async () => {
    await folder.file('ca.crt', 'CA');
    await folder.file('token', 'pod-token\n');
    await folder.file('namespace', 'shop\n');
    const connection = await connect({
      env: { ...pod, KUBERNETES_SERVICE_HOST: 'fd00::1' },
      serviceAccountDir: folder.path,
    });
    expect(connection.server.href).toBe('https://[fd00::1]/');
    expect(connection.tls()).toEqual({ ca: Buffer.from('CA') });
    expect(connection.namespace).toBe('shop');
    expect(await connection.authorization()).toBe('Bearer pod-token');
  });

  test('nowhere: the message says where was looked', async () => {
    await expect(connect({ env: {} })).rejects.toThrow(/\$KUBECONFIG.*~\/\.kube\/config.*KUBERNETES_SERVICE_HOST/);
  });
});

test('in the place of a token that was refused another is found within a second', async () => {
  const clock = virtualClock();
  const authorization = tokenFromFile(await folder.file('token', 'one'), clock);
  expect(authorization(true)).toBe('Bearer one');
  for (let n = 0; n < 100; n += 1) {
    clock.advance(1000);
    expect(authorization()).toBe('Bearer one');
  }
  await folder.file('token', 'two');
  clock.advance(1000);
  expect(authorization()).toBe('Bearer two');
  await folder.file('token', 'three');
  clock.advance(59_999);
  expect(authorization()).toBe('Bearer two');
});

test('a token file is read again once a minute, and at once after a refusal', async () => {
  const clock = virtualClock();
  const path = await folder.file('token', 'one');
  const authorization = tokenFromFile(path, clock);
  expect(authorization()).toBe('Bearer one');
  await folder.file('token', 'two');
  clock.advance(59_999);
  expect(authorization()).toBe('Bearer one');
  clock.advance(1);
  expect(authorization()).toBe('Bearer two');
  await folder.file('token', 'three');
  expect(authorization(true)).toBe('Bearer three');
});

test.each([
  ['cannot be read', () => rm(join(folder.path, 'token'))],
  ['is empty', () => folder.file('token', ' \n')],
])('a token file that %s for a moment: the last token has to do, and it is read again soon', async (_, spoil) => {
  const clock = virtualClock();
  const authorization = tokenFromFile(await folder.file('token', 'one'), clock);
  await spoil();
  clock.advance(60_000);
  expect(authorization()).toBe('Bearer one');
  expect(authorization(true)).toBe('Bearer one');
  await folder.file('token', 'two');
  clock.advance(1_000);
  expect(authorization()).toBe('Bearer two');
});

test.each([
  ['is missing', undefined, /nowhere: the token cannot be read \(ENOENT\)/],
  ['is empty', '', /nowhere: expected a token, but the file is empty/],
])('a token file that %s from the beginning is named', async (_, content, message) => {
  if (content !== undefined) await folder.file('nowhere', content);
  const path = await folder.file('config', kubeconfig('https://a', '{tokenFile: nowhere}'));
  await expect(connect({ kubeconfig: path, env: {} })).rejects.toThrow(message);
});

describe('certificates in files', () => {
  const pems = '{client-certificate: tls.crt, client-key: tls.key}';
  const write = (version: string) =>
    Promise.all(['ca.crt', 'tls.crt', 'tls.key'].map((name) => folder.file(name, `${name} ${version}`)));
  const holding = (version: string) => ({
    ca: Buffer.from(`ca.crt ${version}`),
    cert: Buffer.from(`tls.crt ${version}`),
    key: Buffer.from(`tls.key ${version}`),
  });
  const connected = async (clock: VirtualClock) => {
    await write('one');
    const path = await folder.file('config', kubeconfig('https://a', pems, ', certificate-authority: ca.crt'));
    return connect({ kubeconfig: path, env: {}, clock });
  };

  test('are read again once a minute; the same object for as long as they hold the same', async () => {
    const clock = virtualClock();
    const { tls } = await connected(clock);
    const first = tls();
    expect(first).toEqual(holding('one'));
    await write('one');
    clock.advance(60_000);
    expect(tls()).toBe(first);
    await write('two');
    clock.advance(59_999);
    expect(tls()).toBe(first);
    clock.advance(1);
    const second = tls();
    expect(second).toEqual(holding('two'));
    expect(tls()).toBe(second);
  });

  test('what has just changed is soon looked at again: the key may have come after its certificate', async () => {
    const clock = virtualClock();
    const { tls } = await connected(clock);
    await folder.file('tls.crt', 'tls.crt two');
    clock.advance(60_000);
    expect(tls().key).toEqual(Buffer.from('tls.key one'));
    await write('two');
    clock.advance(1_000);
    expect(tls()).toEqual(holding('two'));
  });

  test.each([
    ['cannot be read', () => rm(join(folder.path, 'tls.key'))],
    ['is empty', () => folder.file('ca.crt', '')],
  ])('one that %s for a moment: the last ones have to do', async (_, spoil) => {
    const clock = virtualClock();
    const { tls } = await connected(clock);
    const first = tls();
    await spoil();
    clock.advance(60_000);
    expect(tls()).toBe(first);
    await write('two');
    clock.advance(1_000);
    expect(tls()).toEqual(holding('two'));
  });

  test('are read again at once after a refusal', async () => {
    const { tls, authorization } = await connected(virtualClock());
    await write('two');
    expect(tls()).toEqual(holding('one'));
    await authorization(true);
    expect(tls()).toEqual(holding('two'));
  });

  test('one that is missing from the beginning is named', async () => {
    const path = await folder.file('config', kubeconfig('https://a', pems));
    await expect(connect({ kubeconfig: path, env: {} })).rejects.toThrow(
      `${join(folder.path, 'tls.crt')}: cannot be read (ENOENT)`,
    );
  });

  test('the authority of a pod is read again, too', async () => {
    const clock = virtualClock();
    await write('one');
    await folder.file('token', 't');
    const env = { KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '443' };
    const { tls } = await connect({ env, serviceAccountDir: folder.path, clock });
    await write('two');
    clock.advance(60_000);
    expect(tls()).toEqual({ ca: Buffer.from('ca.crt two') });
  });
});
