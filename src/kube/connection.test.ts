import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type VirtualClock, virtualClock } from '../../test/support/virtual-clock.ts';
import { connect } from './connection.ts';
import { fileToken } from './file-token.ts';

let root: string;
let dir: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'connection-'));
});
beforeEach(async () => {
  dir = await mkdtemp(join(root, 'test-'));
});
afterAll(() => rm(root, { recursive: true }));

/** Writes a file into the folder of the test and tells its path. */
async function file(name: string, content: string): Promise<string> {
  await writeFile(join(dir, name), content);
  return join(dir, name);
}

const base64 = (text: string) => Buffer.from(text).toString('base64');

const kubeconfig = (server: string, user = '{token: t0}', cluster = '') => `
apiVersion: v1
kind: Config
current-context: first
contexts:
- {name: first, context: {cluster: c, user: u, namespace: shop}}
- {name: second, context: {cluster: c}}
clusters:
- name: c
  cluster: {server: "${server}"${cluster}}
users:
- name: u
  user: ${user}
`;

describe('where the connection comes from', () => {
  const pod = { KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '443' };

  test('the named kubeconfig, else $KUBECONFIG, else ~/.kube/config, else the pod', async () => {
    const named = await file('named', kubeconfig('https://named'));
    const variable = await file('variable', kubeconfig('https://variable'));
    await mkdir(join(dir, '.kube'));
    await file('.kube/config', kubeconfig('https://home'));
    await file('ca.crt', 'CA');
    await file('token', 'pod-token\n');
    await file('namespace', 'shop');
    const options = { serviceAccountDir: dir };
    const host = async (given: Parameters<typeof connect>[0]) => (await connect({ ...options, ...given })).server.host;
    const all = { ...pod, KUBECONFIG: variable, HOME: dir };
    expect(await host({ kubeconfig: named, env: all })).toBe('named');
    expect(await host({ env: all })).toBe('variable');
    expect(await host({ env: { ...all, KUBECONFIG: '' } })).toBe('home');
    expect(await host({ env: { ...pod, HOME: join(dir, 'nowhere') } })).toBe('10.0.0.1');
  });

  test('in a pod: token, authority and namespace of the ServiceAccount', async () => {
    await file('ca.crt', 'CA');
    await file('token', 'pod-token\n');
    await file('namespace', 'shop\n');
    const connection = await connect({ env: { ...pod, KUBERNETES_SERVICE_HOST: 'fd00::1' }, serviceAccountDir: dir });
    expect(connection.server.href).toBe('https://[fd00::1]/');
    expect(connection.tls()).toEqual({ ca: Buffer.from('CA') });
    expect(connection.namespace).toBe('shop');
    expect(await connection.authorization()).toBe('Bearer pod-token');
  });

  test('nowhere: the message says where was looked', async () => {
    await expect(connect({ env: {} })).rejects.toThrow(/\$KUBECONFIG.*~\/\.kube\/config.*KUBERNETES_SERVICE_HOST/);
  });
});

test('a token file is read again once a minute, and at once after a refusal', async () => {
  const clock = virtualClock();
  const path = await file('token', 'one');
  const authorization = fileToken(path, clock);
  expect(authorization()).toBe('Bearer one');
  await file('token', 'two');
  clock.advance(59_999);
  expect(authorization()).toBe('Bearer one');
  clock.advance(1);
  expect(authorization()).toBe('Bearer two');
  await file('token', 'three');
  expect(authorization(true)).toBe('Bearer three');
});

test.each([
  ['cannot be read', () => rm(join(dir, 'token'))],
  ['is empty', () => file('token', ' \n')],
])('a token file that %s for a moment: the last token has to do, and it is read again soon', async (_, spoil) => {
  const clock = virtualClock();
  const authorization = fileToken(await file('token', 'one'), clock);
  await spoil();
  clock.advance(60_000);
  expect(authorization()).toBe('Bearer one');
  expect(authorization(true)).toBe('Bearer one');
  await file('token', 'two');
  clock.advance(1_000);
  expect(authorization()).toBe('Bearer two');
});

test.each([
  ['is missing', undefined, /nowhere: the token cannot be read \(ENOENT\)/],
  ['is empty', '', /nowhere: expected a token, but the file is empty/],
])('a token file that %s from the beginning is named', async (_, content, message) => {
  if (content !== undefined) await file('nowhere', content);
  const path = await file('config', kubeconfig('https://a', '{tokenFile: nowhere}'));
  await expect(connect({ kubeconfig: path, env: {} })).rejects.toThrow(message);
});

describe('certificates in files', () => {
  const pems = '{client-certificate: tls.crt, client-key: tls.key}';
  const write = (version: string) =>
    Promise.all(['ca.crt', 'tls.crt', 'tls.key'].map((name) => file(name, `${name} ${version}`)));
  const holding = (version: string) => ({
    ca: Buffer.from(`ca.crt ${version}`),
    cert: Buffer.from(`tls.crt ${version}`),
    key: Buffer.from(`tls.key ${version}`),
  });
  const connected = async (clock: VirtualClock) => {
    await write('one');
    const path = await file('config', kubeconfig('https://a', pems, ', certificate-authority: ca.crt'));
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
    await file('tls.crt', 'tls.crt two');
    clock.advance(60_000);
    expect(tls().key).toEqual(Buffer.from('tls.key one'));
    await write('two');
    clock.advance(1_000);
    expect(tls()).toEqual(holding('two'));
  });

  test.each([
    ['cannot be read', () => rm(join(dir, 'tls.key'))],
    ['is empty', () => file('ca.crt', '')],
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
    const path = await file('config', kubeconfig('https://a', pems));
    await expect(connect({ kubeconfig: path, env: {} })).rejects.toThrow(
      `${join(dir, 'tls.crt')}: cannot be read (ENOENT)`,
    );
  });

  test('the authority of a pod is read again, too', async () => {
    const clock = virtualClock();
    await write('one');
    await file('token', 't');
    const env = { KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '443' };
    const { tls } = await connect({ env, serviceAccountDir: dir, clock });
    await write('two');
    clock.advance(60_000);
    expect(tls()).toEqual({ ca: Buffer.from('ca.crt two') });
  });
});

describe('kubeconfig', () => {
  test('token, inline data, TLS name, namespace', async () => {
    const user = `{token: t1, client-certificate-data: ${base64('CERT')}, client-key-data: ${base64('KEY')}}`;
    const cluster = `, certificate-authority-data: ${base64('CA')}, tls-server-name: kubernetes`;
    const path = await file('config', kubeconfig('https://api.example:6443/prefix', user, cluster));
    const connection = await connect({ kubeconfig: path, env: {} });
    expect(connection.server.href).toBe('https://api.example:6443/prefix');
    expect(connection.tls()).toEqual({
      ca: Buffer.from('CA'),
      cert: Buffer.from('CERT'),
      key: Buffer.from('KEY'),
      servername: 'kubernetes',
    });
    expect(connection.namespace).toBe('shop');
    expect(await connection.authorization()).toBe('Bearer t1');
  });

  test('paths are relative to the file they stand in', async () => {
    await file('ca.pem', 'CA');
    await file('token', 'from-file');
    const path = await file(
      'config',
      kubeconfig('https://a', '{tokenFile: token}', ', certificate-authority: ./ca.pem'),
    );
    const connection = await connect({ kubeconfig: path, env: {} });
    expect(connection.tls().ca).toEqual(Buffer.from('CA'));
    expect(await connection.authorization()).toBe('Bearer from-file');
  });

  test('another context, without a user; no verification only where it says so', async () => {
    const path = await file('config', kubeconfig('https://a', '{}', ', insecure-skip-tls-verify: true'));
    const connection = await connect({ kubeconfig: path, context: 'second', env: {} });
    expect(connection.tls()).toEqual({ rejectUnauthorized: false });
    expect(await connection.authorization()).toBeUndefined();
    expect(connection.namespace).toBeUndefined();
  });

  test('JSON is YAML', async () => {
    const config = {
      'current-context': 'x',
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      clusters: [{ name: 'c', cluster: { server: 'https://json' } }],
      users: [{ name: 'u', user: { token: 't' } }],
    };
    const path = await file('config', JSON.stringify(config));
    expect((await connect({ kubeconfig: path, env: {} })).server.host).toBe('json');
  });

  test('several files: the first to name a thing wins', async () => {
    const one = await file('one', 'current-context: second\nclusters: []\n');
    const two = await file('two', kubeconfig('https://two'));
    const three = await file('three', kubeconfig('https://three'));
    const connection = await connect({ env: { KUBECONFIG: [one, two, three].join(delimiter) } });
    expect(connection.server.host).toBe('two');
    expect(connection.namespace).toBeUndefined();
  });

  test('several files: the first wins also where it takes a plugin or a proxy', async () => {
    const one = await file('one', kubeconfig('https://one', '{token: t1}', ', proxy-url: "http://127.0.0.1:1"'));
    const two = await file('two', kubeconfig('https://two', '{exec: {command: no-such-plugin}}'));
    const connection = await connect({ env: { KUBECONFIG: [one, two].join(delimiter) } });
    expect(connection.server.host).toBe('one');
    expect(await connection.authorization()).toBe('Bearer t1');
  });

  test('several files: those that do not exist are passed over, those that are damaged are not', async () => {
    const good = await file('good', kubeconfig('https://good'));
    const bad = await file('bad', '- [');
    const list = (...files: readonly string[]) => files.join(delimiter);
    const missing = join(dir, 'missing');
    const env = { KUBECONFIG: list(missing, good) };
    expect((await connect({ env })).server.host).toBe('good');
    // As the controller does, whose setting it is.
    expect((await connect({ kubeconfig: env.KUBECONFIG, env })).server.host).toBe('good');
    await expect(connect({ env: { KUBECONFIG: list(good, bad) } })).rejects.toThrow(`${bad}: not a kubeconfig`);
    await expect(connect({ env: { KUBECONFIG: list(good, dir) } })).rejects.toThrow(`${dir}: cannot be read (EISDIR)`);
    await expect(connect({ env: { KUBECONFIG: list(missing, `${missing}2`) } })).rejects.toThrow(
      `none of the files in $KUBECONFIG exists: ${missing}, ${missing}2; correct the variable, or unset it`,
    );
    await expect(connect({ kubeconfig: missing, env })).rejects.toThrow(`${missing}: there is no such file; name`);
  });

  test.each([
    ['no context', 'clusters: []', /no current-context/],
    ['an unknown context', 'current-context: gone', /there is no context "gone"/],
    ['an unknown user', kubeconfig('https://a').replace('name: u\n', 'name: other\n'), /there is no user "u"/],
    ['no server', kubeconfig(''), /cluster "c" has no valid server; expected a URL like https:\/\/host:6443/],
    ['a server without a scheme', kubeconfig('api.corp:6443'), /no valid server; expected a URL like https:/],
    ['such a server behind a proxy', kubeconfig('a:1', '{}', ', proxy-url: "http://p"'), /no valid server/],
    ['impersonation', kubeconfig('https://a', '{token: t, as: limited}'), /user "u" has "as": impersonation .*; name/],
    ['a group of another', kubeconfig('https://a', '{token: t, as-groups: [view]}'), /"u" has "as-groups"/],
    ['a uid of another', kubeconfig('https://a', '{token: t, as-uid: "7"}'), /"u" has "as-uid"/],
    ['extras of another', kubeconfig('https://a', '{token: t, as-user-extra: {scope: [view]}}'), /"as-user-extra"/],
    ['a file that is none', '- a\n- [', /not a kubeconfig/],
  ])('%s: said with the name of the file', async (_, content, message) => {
    const path = await file('config', content);
    const failure = await connect({ kubeconfig: path, env: {} }).catch((error: unknown) => error as Error);
    expect(failure).toBeInstanceOf(Error);
    expect((failure as Error).message).toMatch(message);
    expect((failure as Error).message).toContain(path);
  });

  test('a file that cannot be parsed is not quoted: it holds credentials', async () => {
    const path = await file('config', `{"users":[{"token":"hunter2"`);
    const failure = await connect({ kubeconfig: path, env: {} }).catch((error: unknown) => error as Error);
    expect(`${failure} ${(failure as Error).cause}`).not.toContain('hunter2');
  });

  test('an exec plugin is run, and only again when its credential has expired', async () => {
    const runs = join(dir, 'runs');
    const credential = {
      apiVersion: 'client.authentication.k8s.io/v1',
      kind: 'ExecCredential',
      status: { token: 'from-plugin', expirationTimestamp: '2999-01-01T00:00:00Z' },
    };
    await file('plugin.sh', `echo run >> ${runs}\ncat <<'EOF'\n${JSON.stringify(credential)}\nEOF\n`);
    const exec = `{exec: {apiVersion: client.authentication.k8s.io/v1, command: sh, args: ["${join(dir, 'plugin.sh')}"], interactiveMode: Never}}`;
    const path = await file('config', kubeconfig('https://a', exec, `, certificate-authority-data: ${base64('CA')}`));
    const connection = await connect({ kubeconfig: path, env: {} });
    expect(connection.server.host).toBe('a');
    expect(Buffer.from(connection.tls().ca as Buffer).toString()).toBe('CA');
    expect(connection.namespace).toBe('shop');
    expect(await connection.authorization()).toBe('Bearer from-plugin');
    expect(await connection.authorization()).toBe('Bearer from-plugin');
    expect(await readFile(runs, 'utf8')).toBe('run\n');
  });

  test('a proxy becomes the agent', async () => {
    const path = await file('config', kubeconfig('https://a', '{token: t}', ', proxy-url: "http://127.0.0.1:3128"'));
    const connection = await connect({ kubeconfig: path, env: {} });
    expect(connection.agent).toBeDefined();
    expect(await connection.authorization()).toBe('Bearer t');
  });
});
