import { readFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { expect, test } from 'vitest';
import { kubeconfig, testFolder } from '../../../test/support/test-folder.ts';
import { connect } from './connection.ts';

const folder = testFolder('kubeconfig');
const base64 = (text: string) => Buffer.from(text).toString('base64');

test('token, inline data, TLS name, namespace', async () => {
  const user = `{token: t1, client-certificate-data: ${base64('CERT')}, client-key-data: ${base64('KEY')}}`;
  const cluster = `, certificate-authority-data: ${base64('CA')}, tls-server-name: kubernetes`;
  const path = await folder.file('config', kubeconfig('https://api.example:6443/prefix', user, cluster));
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
  await folder.file('ca.pem', 'CA');
  await folder.file('token', 'from-file');
  const path = await folder.file(
    'config',
    kubeconfig('https://a', '{tokenFile: token}', ', certificate-authority: ./ca.pem'),
  );
  const connection = await connect({ kubeconfig: path, env: {} });
  expect(connection.tls().ca).toEqual(Buffer.from('CA'));
  expect(await connection.authorization()).toBe('Bearer from-file');
});

test('another context, without a user; no verification only where it says so', async () => {
  const path = await folder.file('config', kubeconfig('https://a', '{}', ', insecure-skip-tls-verify: true'));
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
  const path = await folder.file('config', JSON.stringify(config));
  expect((await connect({ kubeconfig: path, env: {} })).server.host).toBe('json');
});

test.each([
  [
    'block style',
    `current-context: x
contexts:
  - name: x
    context: {cluster: c}
clusters:
  - name: c
    cluster:
      server: 'https://yaml'
`,
  ],
  [
    'flow style',
    "{apiVersion: 'v1', current-context: x, contexts: [{name: x, context: {cluster: c}}], clusters: [{name: c, cluster: {server: 'https://yaml'}}]}",
  ],
])('YAML in %s', async (_, content) => {
  const path = await folder.file('config', content);
  expect((await connect({ kubeconfig: path, env: {} })).server.host).toBe('yaml');
});

test('several files: the first to name a thing wins', async () => {
  const one = await folder.file('one', 'current-context: second\nclusters: []\n');
  const two = await folder.file('two', kubeconfig('https://two'));
  const three = await folder.file('three', kubeconfig('https://three'));
  const connection = await connect({ env: { KUBECONFIG: [one, two, three].join(delimiter) } });
  expect(connection.server.host).toBe('two');
  expect(connection.namespace).toBeUndefined();
});

test('several files: the first wins also where it takes a plugin or a proxy', async () => {
  const one = await folder.file('one', kubeconfig('https://one', '{token: t1}', ', proxy-url: "http://127.0.0.1:1"'));
  const two = await folder.file('two', kubeconfig('https://two', '{exec: {command: no-such-plugin}}'));
  const connection = await connect({ env: { KUBECONFIG: [one, two].join(delimiter) } });
  expect(connection.server.host).toBe('one');
  expect(await connection.authorization()).toBe('Bearer t1');
});

test('several files: those that do not exist are passed over, those that are damaged are not', async () => {
  const good = await folder.file('good', kubeconfig('https://good'));
  const bad = await folder.file('bad', '- [');
  const list = (...files: readonly string[]) => files.join(delimiter);
  const missing = join(folder.path, 'missing');
  const env = { KUBECONFIG: list(missing, good) };
  expect((await connect({ env })).server.host).toBe('good');
  // As the controller does, whose setting it is.
  expect((await connect({ kubeconfig: env.KUBECONFIG, env })).server.host).toBe('good');
  await expect(connect({ env: { KUBECONFIG: list(good, bad) } })).rejects.toThrow(`${bad}: not a kubeconfig`);
  await expect(connect({ env: { KUBECONFIG: list(good, folder.path) } })).rejects.toThrow(
    `${folder.path}: cannot be read (EISDIR)`,
  );
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
  ['a list', '- a\n- b', /not a kubeconfig: expected fields like clusters, users and contexts/],
  ['a file that is none', 'a: b\nusers: [', /not a kubeconfig: neither YAML nor JSON at line 2, column 9/],
  ['JSON with a slip', '{"users": [\n  {"token": "hunter2" "x"}]}', /not a kubeconfig: .* at line 2, column \d+$/],
  ['an alias that leads nowhere', 'users: *nobody', /not a kubeconfig: .* at an alias/],
  ['nothing', '', /no current-context; name one with --context/],
])('%s: said with the name of the file', async (_, content, message) => {
  const path = await folder.file('config', content);
  const failure = await connect({ kubeconfig: path, env: {} }).catch((error: unknown) => error as Error);
  expect(failure).toBeInstanceOf(Error);
  expect((failure as Error).message).toMatch(message);
  expect((failure as Error).message).toContain(path);
});

test('a file that cannot be parsed is not quoted: it holds credentials', async () => {
  const path = await folder.file('config', `{"users":[{"token":"hunter2"`);
  const failure = await connect({ kubeconfig: path, env: {} }).catch((error: unknown) => error as Error);
  expect(`${failure} ${(failure as Error).cause}`).not.toContain('hunter2');
});

test('an exec plugin is run, and only again when its credential has expired', async () => {
  const runs = join(folder.path, 'runs');
  const credential = {
    apiVersion: 'client.authentication.k8s.io/v1',
    kind: 'ExecCredential',
    status: { token: 'from-plugin', expirationTimestamp: '2999-01-01T00:00:00Z' },
  };
  await folder.file('plugin.sh', `echo run >> ${runs}\ncat <<'EOF'\n${JSON.stringify(credential)}\nEOF\n`);
  const exec = `{exec: {apiVersion: client.authentication.k8s.io/v1, command: sh, args: ["${join(folder.path, 'plugin.sh')}"], interactiveMode: Never}}`;
  const path = await folder.file(
    'config',
    kubeconfig('https://a', exec, `, certificate-authority-data: ${base64('CA')}`),
  );
  const connection = await connect({ kubeconfig: path, env: {} });
  expect(connection.server.host).toBe('a');
  expect(Buffer.from(connection.tls().ca as Buffer).toString()).toBe('CA');
  expect(connection.namespace).toBe('shop');
  expect(await connection.authorization()).toBe('Bearer from-plugin');
  expect(await connection.authorization()).toBe('Bearer from-plugin');
  expect(await readFile(runs, 'utf8')).toBe('run\n');
});

test('a proxy becomes a tunnel', async () => {
  const path = await folder.file(
    'config',
    kubeconfig('https://a', '{token: t}', ', proxy-url: "http://127.0.0.1:3128"'),
  );
  const connection = await connect({ kubeconfig: path, env: {} });
  expect(connection.tunnel).toBeDefined();
  expect(await connection.authorization()).toBe('Bearer t');
});
