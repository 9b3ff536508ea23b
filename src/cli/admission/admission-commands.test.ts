import { afterAll, describe, expect, it } from 'vitest';
import { commandLine } from '../../../test/e2e/cli/run.ts';
import { listOf, scriptedApi } from '../../../test/support/scripted-api.ts';
import type { Io } from '../terminal/io.ts';
import { run as install } from './install.ts';
import { run as status } from './status.ts';
import { run as uninstall } from './uninstall.ts';

async function told(run: typeof install, ...argv: readonly string[]) {
  const texts = { stdout: '', stderr: '' };
  const io: Io = {
    env: { KUBECONFIG: '/nowhere' },
    stdout: (text) => {
      texts.stdout += text;
    },
    stderr: (text) => {
      texts.stderr += text;
    },
    signal: new AbortController().signal,
    terminal: {},
  };
  return { code: await run(argv, io), ...texts };
}

it.each([
  ['install', install],
  ['uninstall', uninstall],
  ['status', status],
])('%s tells what it does, and refuses what it does not understand', async (name, run) => {
  const help = await told(run, '--help');
  expect(help).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining(`attune admission ${name} `) });
  expect(await told(run, 'junk', '--nonsense', '--admission-cert-life=1s')).toEqual({
    code: 2,
    stdout: '',
    stderr: expect.stringMatching(
      /nonsense(.*\n)*.*admission-cert-life must be 60s(.*\n)*.*only flags are understood here/,
    ),
  });
});

it('each knows its formats', async () => {
  expect(await told(install, '-o', 'json')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('-o is for --dry-run'),
  });
  expect((await told(install, '--dry-run', '-o', 'xml')).stderr).toContain('-o knows json and yaml, not xml');
  expect((await told(status, '-o', 'yaml')).stderr).toContain('-o knows json, not yaml');
});

describe('status, for somebody with few rights', async () => {
  const PATH = '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations';
  let items: readonly object[] = [];
  const api = await scriptedApi(({ path, json, status: refuse }) => {
    if (path === PATH) json(200, listOf(items, '1'));
    else refuse(path.startsWith(PATH) ? 404 : 403, path.startsWith(PATH) ? 'NotFound' : 'Forbidden');
  });
  afterAll(() => api[Symbol.asyncDispose]());
  const attune = commandLine({ server: api.connection.server.origin, authority: '', token: 'test' }, {}, status);
  const registration = (caBundle: string) => {
    const service = { namespace: 'attune', name: 'other', port: 443, path: '/mutate' };
    const webhooks = [
      { name: 'a.example', clientConfig: { url: 'https://a.example' } },
      { name: 'workloads.admission.attune.dev', failurePolicy: 'Fail', clientConfig: { service, caBundle } },
    ];
    return { metadata: { name: 'other', uid: 'u', resourceVersion: '1' }, webhooks };
  };

  it('nothing is registered', async () => {
    items = [{ metadata: { name: 'x', uid: 'u', resourceVersion: '1' }, webhooks: null }];
    const answer = await attune();
    expect(answer).toMatchObject({
      code: 1,
      stdout: 'admission is not registered: attune admission install does that\n',
    });
    expect(await attune('-o', 'json')).toMatchObject({ code: 1, stdout: '[]\n' });
  });

  it('a registration under another name; whose certificate is served may not be seen', async () => {
    items = [registration('Y2E=')];
    const { code, stdout } = await attune();
    expect(code).toBe(2);
    expect(stdout).toMatch(
      /^registration +MutatingWebhookConfiguration other\nentries +workloads\.admission\.attune\.dev\n/,
    );
    expect(stdout).toMatch(/certificate +you may not read Secret attune\/other-cert\n/);
  });

  it('nobody is trusted yet', async () => {
    items = [registration('')];
    expect(await attune()).toMatchObject({ code: 1, stdout: expect.stringMatching(/trust +nobody is trusted yet/) });
  });
});
