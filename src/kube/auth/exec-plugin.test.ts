import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { testFolder } from '../../../test/support/test-folder.ts';
import { virtualClock } from '../../../test/support/virtual-clock.ts';
import { CONFIG_MAPS } from '../../api/resources.ts';
import { KubeClient } from '../client.ts';
import { connect } from './connection.ts';

const folder = testFolder('exec-plugin');

const END = '2999-01-01T00:00:00Z';
const credential = (status: object) =>
  JSON.stringify({ apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential', status });

/** A kubeconfig whose plugin is a shell script; it may print the file `answer`. */
async function plugin(script: string, exec: object = {}, cluster: object = {}): Promise<string> {
  await writeFile(join(folder.path, 'plugin.sh'), `#!/bin/sh\ncd ${folder.path}\necho run >> runs\n${script}\n`, {
    mode: 0o755,
  });
  const config = {
    'current-context': 'x',
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    clusters: [{ name: 'c', cluster: { server: 'https://a', ...cluster } }],
    users: [
      { name: 'u', user: { exec: { apiVersion: 'client.authentication.k8s.io/v1', command: './plugin.sh', ...exec } } },
    ],
  };
  await writeFile(join(folder.path, 'config'), JSON.stringify(config));
  return join(folder.path, 'config');
}
const answer = (status: object) => writeFile(join(folder.path, 'answer'), credential(status));
const runs = async () => (await readFile(join(folder.path, 'runs'), 'utf8')).split('\n').length - 1;
const env = { PATH: '/usr/bin:/bin' };

test('its token is used until it expires; twenty calls then are one run', async () => {
  const clock = virtualClock(Date.parse('2030-01-01T00:00:00Z'));
  const kubeconfig = await plugin('cat answer');
  await answer({ token: 'one', expirationTimestamp: '2030-01-01T00:01:00Z' });
  const { authorization } = await connect({ kubeconfig, env, clock });
  expect(authorization()).toBe('Bearer one');
  await answer({ token: 'two', expirationTimestamp: END });
  expect(authorization()).toBe('Bearer one');
  clock.advance(60_000);
  const headers = await Promise.all(Array.from({ length: 20 }, () => authorization()));
  expect(new Set(headers)).toEqual(new Set(['Bearer two']));
  expect(await runs()).toBe(2);
});

test('it is run again after a refusal, also where its token has no end', async () => {
  const kubeconfig = await plugin('cat answer');
  await answer({ token: 'one' });
  const { authorization } = await connect({ kubeconfig, env });
  await answer({ token: 'two' });
  expect(await Promise.all([authorization(true), authorization(true)])).toEqual(['Bearer two', 'Bearer two']);
  expect(await runs()).toBe(2);
});

test('its certificate reaches the connections, as a new object when it is another', async () => {
  const clock = virtualClock();
  const kubeconfig = await plugin('cat answer');
  const certificate = (version: string, second: number) =>
    answer({
      clientCertificateData: `cert ${version}`,
      clientKeyData: `key ${version}`,
      expirationTimestamp: new Date(second * 1000).toISOString(),
    });
  await certificate('one', 10);
  const { authorization, tls } = await connect({ kubeconfig, env, clock });
  expect(authorization()).toBeUndefined();
  const first = tls();
  expect(first).toEqual({ cert: 'cert one', key: 'key one' });
  await certificate('one', 20);
  clock.advance(10_000);
  await authorization();
  expect(tls()).toBe(first);
  await certificate('two', 30);
  clock.advance(10_000);
  await authorization();
  expect(tls()).toEqual({ cert: 'cert two', key: 'key two' });
  expect(tls()).toBe(tls());
});

test('it finds its variables, ours, and what it is asked for', async () => {
  const say =
    'printf \'%s\' "$KUBERNETES_EXEC_INFO" > info; printf \'%s %s %s\' "$1" "$OWN" "$OURS" > found; cat answer';
  const extension = { name: 'client.authentication.k8s.io/exec', extension: { audience: 'here' } };
  const kubeconfig = await plugin(
    say,
    { args: ['first'], env: [{ name: 'OWN', value: 'own' }], provideClusterInfo: true },
    { 'certificate-authority': 'ca.crt', extensions: [extension] },
  );
  await writeFile(join(folder.path, 'ca.crt'), 'CA');
  await answer({ token: 'one' });
  await connect({ kubeconfig, env: { ...env, OURS: 'ours' } });
  expect(await readFile(join(folder.path, 'found'), 'utf8')).toBe('first own ours');
  expect(JSON.parse(await readFile(join(folder.path, 'info'), 'utf8'))).toEqual({
    apiVersion: 'client.authentication.k8s.io/v1',
    kind: 'ExecCredential',
    spec: {
      interactive: false,
      cluster: { server: 'https://a', 'certificate-authority-data': 'Q0E=', config: { audience: 'here' } },
    },
  });
});

describe('a plugin that gives nothing is named; what it says is told, its credential is not', () => {
  const failureOf = async (script: string, exec?: object) => {
    const failure = await connect({ kubeconfig: await plugin(script, exec), env }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(Error);
    const { message, cause } = failure as Error;
    expect(`${message} ${cause}`).not.toContain('hunter2');
    expect(message).toMatch(/config: user "u": the plugin "[^"]+" /);
    return message;
  };

  test.each([
    ['that fails', 'echo hunter2; echo hunter2 >&2; exit 3', /ended with code 3: \[hidden\]; run it by hand/],
    ['that is killed', 'kill -9 $$', /ended with SIGKILL/],
    ['that says no JSON', 'echo hunter2', /gave no token and no certificate/],
    ['that says something else', 'echo \'{"kind":"Pod","status":{"token":"hunter2"}}\'', /gave no token/],
    ['that gives a certificate without a key', `echo '${credential({ clientCertificateData: 'c' })}'`, /gave no token/],
    ['that says too much', 'yes hunter2', /said more than 1048576 bytes/],
  ])('one %s', async (_, script, message) => {
    expect(await failureOf(script)).toMatch(message);
  });

  test('its own words are told: the last lines, readable', async () => {
    const script =
      'echo one two three four five | tr " " "\\n" >&2; printf "\\033[31mSSO session\\thas expired\\007\\033[0m" >&2; exit 1';
    expect(await failureOf(script)).toMatch(
      /ended with code 1: three \| four \| five \| SSO session has expired; run it by hand/,
    );
  });

  test('one that gives nothing usable and says why', async () => {
    expect(await failureOf('echo "no such profile" >&2')).toMatch(/gave no token .*: no such profile; run it/);
  });

  test.each([
    ['what it said on stdout', `echo '${credential({ token: 'hunter2' })}'; echo "cannot store hunter2" >&2; exit 1`],
    ['what is in its secret variables', 'echo "login with $AZURE_CLIENT_SECRET failed" >&2; exit 1'],
    ['what is assigned', 'echo "POST grant=x&client_secret=hunter2 failed" >&2; exit 1'],
    ['a header', 'echo "sent Authorization: Bearer hunter2hunter2" >&2; exit 1'],
    ['a JWT', 'echo "refused eyJhbGciOi.eyJodW50ZXIy.hunter2" >&2; exit 1'],
    ['random text', 'echo "refused hunter2Aa1hunter2Bb2hunter2Cc3hunter2" >&2; exit 1'],
  ])('its words are told without %s', async (_, script) => {
    // Only where it is meant: it would hide the others as well.
    const exec = script.includes('$AZURE') ? { env: [{ name: 'AZURE_CLIENT_SECRET', value: 'hunter2' }] } : {};
    expect(await failureOf(script, exec)).toMatch(/ended with code 1: .*\[hidden\]/);
  });

  test('its words have an end, and nobody waits for who keeps its stderr open', async () => {
    const script =
      'sleep 600 2>&2 >/dev/null & echo $! > pid; yes "so many words" | head -c 3000000 >&2; echo >&2; echo >&2 enough; exit 1';
    expect(await failureOf(script)).toMatch(/^.{0,600}so many words \| so many wo\w* \| enough; run it by hand/);
    process.kill(Number(await readFile(join(folder.path, 'pid'), 'utf8')));
  });

  test('one that is not there, with the hint of who wrote the kubeconfig', async () => {
    const exec = { command: 'no-such-plugin', installHint: 'Install it:\n\n  brew install\u0007 no-such-plugin' };
    expect(await failureOf('', exec)).toMatch(/not in the PATH; Install it: \| brew install no-such-plugin$/);
    expect(await failureOf('exit 1', { ...exec, command: './plugin.sh' })).not.toContain('brew');
  });

  test('it is told to who starts and to who calls', async () => {
    const clock = virtualClock();
    const kubeconfig = await plugin('if [ -e broken ]; then echo "log in again" >&2; exit 1; fi; cat answer');
    await answer({ token: 'one', expirationTimestamp: '1970-01-01T00:01:00Z' });
    const client = new KubeClient(await connect({ kubeconfig, env, clock }));
    await writeFile(join(folder.path, 'broken'), '');
    clock.advance(60_000);
    await expect(client.get(CONFIG_MAPS, { name: 'a' })).rejects.toThrow(
      /Unreachable: no credential: .*the plugin ".\/plugin.sh" ended with code 1: log in again; run it by hand/,
    );
    client.close();
  });

  test('one that is not there', async () => {
    expect(await failureOf('', { command: 'no-such-plugin' })).toMatch(/is not installed, or not in the PATH/);
  });

  test('one that cannot even be called', async () => {
    expect(await failureOf('', { args: ['hunter2\0'] })).toMatch(/cannot be started/);
  });

  test('one that wants a terminal', async () => {
    expect(await failureOf('', { interactiveMode: 'Always' })).toMatch(/must have a terminal/);
  });

  test('one that does not end is stopped after a minute', async () => {
    const clock = virtualClock();
    const kubeconfig = await plugin('echo $$ > pid; exec sleep 600');
    const connected = connect({ kubeconfig, env, clock });
    await vi.waitUntil(() => existsSync(join(folder.path, 'pid')), 20_000);
    const pid = Number(await vi.waitUntil(() => readFile(join(folder.path, 'pid'), 'utf8'), 20_000));
    clock.advance(60_000);
    await expect(connected).rejects.toThrow(/did not end within 60 s/);
    await vi.waitUntil(() => !isAlive(pid), 20_000);
  });
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
