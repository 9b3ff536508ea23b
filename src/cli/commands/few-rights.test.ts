import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { commandLine } from '../../../test/e2e/cli/run.ts';
import { listOf, scriptedApi } from '../../../test/support/scripted-api.ts';

/** What the cluster gives for a path; everything else is forbidden. */
let readable: Readonly<Record<string, readonly object[]>> = {};
let isKnown = true;
beforeEach(() => {
  readable = {};
  isKnown = true;
});

const api = await scriptedApi(({ verb, path, json, status }) => {
  if (!isKnown) return status(401, 'Unauthorized');
  const items = readable[path];
  if (items && verb === 'list') json(200, listOf(items, '1'));
  else if (items?.[0] && verb === 'get') json(200, items[0]);
  else if (path === '/api/v1/namespaces/nope') status(404, 'NotFound');
  else status(403, 'Forbidden');
});
afterAll(() => api[Symbol.asyncDispose]());
const attune = commandLine({ server: api.connection.server.origin, authority: '', token: 'test' });

const APPS = '/apis/apps/v1';
const PAUSED_AT = 'deployment.reloader.stakater.com/paused-at';
const deployment = (name: string, annotations: object = {}, spec: object = {}) => ({
  metadata: { namespace: 'shop', name, uid: name, resourceVersion: '1', annotations },
  spec: {
    selector: { matchLabels: { app: name } },
    template: { spec: { containers: [{ name: 'main', envFrom: [{ configMapRef: { name: 'app' } }] }] } },
    ...spec,
  },
});
const EVERYTHING = [
  '/api/v1/namespaces/shop/configmaps',
  '/api/v1/namespaces/shop/secrets',
  '/apis/batch/v1/namespaces/shop/jobs',
  '/apis/batch/v1/namespaces/shop/cronjobs',
  ...['deployments', 'daemonsets', 'statefulsets'].map((plural) => `${APPS}/namespaces/shop/${plural}`),
  '/apis/apps.openshift.io/v1/namespaces/shop/deploymentconfigs',
  '/apis/argoproj.io/v1alpha1/namespaces/shop/rollouts',
];
const empty = (...paths: readonly string[]) => Object.fromEntries(paths.map((path) => [path, []]));

describe('doctor', () => {
  it('cannot tell when it may read nothing', async () => {
    const { code, stdout } = await attune('doctor', '-n', 'shop');
    expect(stdout).toContain('You may not look for Stakater Reloader; judged by the default flags.');
    expect(stdout).toContain('! secrets: this user may not list them');
    expect(stdout).toContain('Could not tell');
    expect(code).toBe(2);
  });

  it('cannot tell by flags that it may not see', async () => {
    readable = empty(...EVERYTHING);
    expect(await attune('doctor', '-n', 'shop')).toMatchObject({
      code: 2,
      stdout: expect.stringContaining("Reloader's flags are not known"),
    });
  });

  it('tells by flags that are given', async () => {
    readable = empty(...EVERYTHING);
    expect(await attune('doctor', '-n', 'shop', '--auto-reload-all')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Judged by the flags given\.\n(.*\n)*Nothing would change/),
    });
  });

  it('the mode alone takes nothing from the flags of Reloader', async () => {
    const reloader = {
      metadata: { namespace: 'tools', name: 'reloader', uid: 'r', resourceVersion: '1' },
      spec: {
        template: {
          spec: { containers: [{ name: 'r', image: 'stakater/reloader:v1.4.21', args: ['--auto-reload-all'] }] },
        },
      },
    };
    const web = deployment('web', {
      'reloader.stakater.com/auto': 'false',
      'configmap.reloader.stakater.com/reload': 'app',
    });
    readable = {
      ...empty(...EVERYTHING),
      [`${APPS}/deployments`]: [reloader],
      [`${APPS}/namespaces/shop/deployments`]: [web, deployment('all')],
      '/api/v1/namespaces/shop/configmaps': [
        { metadata: { namespace: 'shop', name: 'app', uid: 'a', resourceVersion: '1' } },
      ],
    };
    const before = await attune('doctor', '-n', 'shop');
    expect(before.stdout).toContain('≠ Deployment shop/web');
    expect(before.code).toBe(1);
    const { code, stdout } = await attune('doctor', '-n', 'shop', '--compat=stakater');
    expect(stdout).toContain('Stakater Reloader: Deployment tools/reloader, stakater/reloader:v1.4.21');
    expect(stdout).toContain('Attune with --compat=stakater');
    expect(stdout).toContain('= Deployment shop/web: as before, 1 source\n');
    expect(stdout).toContain('= Deployment shop/all: as before, 1 source\n');
    expect(code).toBe(0);
  });

  it('a Reloader that was looked for and is not there is another answer', async () => {
    readable = empty(...EVERYTHING, `${APPS}/deployments`);
    expect(await attune('doctor', '-n', 'shop')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('No Stakater Reloader was found'),
    });
  });

  it('where Attune has taken over, its flags count', async () => {
    const metadata = { namespace: 'odd', name: 'attune-info', uid: 'i', resourceVersion: '1' };
    const data = { version: '0.1.0', flags: '--auto-reload-all=true', publishedAt: '2030-01-31T12:00:04Z' };
    readable = { ...empty(...EVERYTHING, `${APPS}/deployments`), '/api/v1/configmaps': [{ metadata, data }] };
    expect(await attune('doctor', '-n', 'shop')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(
        /^No Stakater Reloader was found; judged by the flags of ConfigMap odd\/attune-info .*: --auto-reload-all=true\.\n/,
      ),
    });
  });

  it('a namespace that does not exist is a mistake', async () => {
    expect(await attune('doctor', '-n', 'nope', '--auto-reload-all')).toMatchObject({
      code: 2,
      stdout: '',
      stderr: 'attune doctor: there is no namespace nope\n',
    });
  });

  it.each([
    [['--namespac', 'a'], 'did you mean --namespace?'],
    [['shop'], 'did you mean -n shop?'],
    [['-o', 'yaml'], '-o knows json'],
  ])('%j is refused', async (argv, hint) => {
    expect(await attune('doctor', ...argv)).toMatchObject({ code: 2, stderr: expect.stringContaining(hint) });
  });
});

describe('impact, and explain with it', () => {
  const auto = deployment('web', { 'reloader.stakater.com/auto': 'true' });

  it('say that Attune may not be looked for', async () => {
    readable = { ...empty(...EVERYTHING), [`${APPS}/namespaces/shop/deployments`]: [auto] };
    const nothing = 'no ConfigMap attune-info can be read in shop, attune, reloader';
    const cure = 'say with --attune-namespace where it is, or give its flags here';
    const words = `the default flags: you may not look for Attune, and ${nothing}; ${cure}`;
    const { stdout } = await attune('impact', 'cm/app', '-n', 'shop', '-o', 'json');
    expect(JSON.parse(stdout)).toMatchObject({ judgedBy: words, complete: true });
    readable = { ...readable, ...empty(`${APPS}/deployments`) };
    expect((await attune('impact', 'cm/app', '-n', 'shop')).stdout).toContain('no Deployment is an Attune, and no');
    readable = { ...readable, ...empty('/api/v1/configmaps') };
    expect((await attune('impact', 'cm/app', '-n', 'shop')).stdout).toContain('no Attune was found in the cluster');
  });

  it('count only what may be listed, and say so', async () => {
    readable = { [`${APPS}/namespaces/shop/deployments`]: [auto] };
    const { stdout, code } = await attune('impact', 'cm/app', '-n', 'shop');
    expect(stdout).toContain('a change reaches at least 1 of those that use or name it; kinds that you may not');
    expect(code).toBe(0);
  });

  it('say that pods may not be listed, instead of up to date', async () => {
    const app = { metadata: { namespace: 'shop', name: 'app', uid: 'a', resourceVersion: '1' }, data: { a: '1' } };
    readable = {
      ...empty(...EVERYTHING),
      [`${APPS}/namespaces/shop/deployments/web`]: [auto],
      '/api/v1/namespaces/shop/configmaps': [app],
      '/api/v1/namespaces/shop/configmaps/app': [app],
    };
    const { stdout, code } = await attune('explain', 'deploy/web', '-n', 'shop', '-o', 'json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout).sources).toMatchObject([
      { source: { name: 'app' }, state: { is: 'unknown', why: 'you may not list replicasets in namespace shop' } },
    ]);
  });

  it('know the annotations of a source that may be read and not listed, and say when they do not', async () => {
    const token = { namespace: 'shop', name: 'token', uid: 't', resourceVersion: '1' };
    const path = '/api/v1/namespaces/shop/secrets/token';
    const named = deployment('web', { 'secret.reloader.stakater.com/reload': 'token' });
    readable = {
      [`${APPS}/namespaces/shop/deployments`]: [named],
      [`${APPS}/namespaces/shop/deployments/web`]: [named],
    };
    const words = 'you may not read it, so its annotations and its data are not known here';
    const asked = [
      ['explain', 'deploy/web', '--source=secret/token'],
      ['impact', 'secret/token'],
    ];
    for (const argv of asked) expect((await attune(...argv, '-n', 'shop')).stdout).toContain(words);
    const ignored = { ...token, annotations: { 'reloader.stakater.com/ignore': 'true' } };
    readable = { ...readable, [path]: [{ metadata: ignored, data: {} }] };
    for (const argv of asked) {
      const { stdout } = await attune(...argv, '-n', 'shop');
      expect(stdout).toContain('(source-ignored)');
      expect(stdout).not.toContain(words);
    }
  });

  it('a namespace that does not exist is called by its name', async () => {
    for (const words of [['explain', 'deploy/web'], ['impact', 'cm/app'], ['resume']]) {
      expect(await attune(...words, '-n', 'nope')).toMatchObject({
        code: 1,
        stdout: '',
        stderr: `attune ${words[0]}: there is no namespace nope\n`,
      });
    }
  });

  it('a slip is not blamed on workloads that may not be listed', async () => {
    readable = empty('/api/v1/namespaces/shop/configmaps');
    const { stderr, code } = await attune('impact', 'cm/app', '-n', 'shop');
    expect(stderr).toContain('no workload that you may list names it');
    expect(code).toBe(1);
  });
});

describe.each(['', '..', 'My Space', '../kube-system'])('%j is no namespace', (name) => {
  it.each(['--attune-namespace', '--namespace'])('for %s', async (flag) => {
    const { code, stderr } = await attune('explain', 'deploy/web', `${flag}=${name}`, '-o', 'yaml');
    expect(code).toBe(2);
    expect(stderr).toContain(`${flag} must be the name of a namespace, not ${JSON.stringify(name)}`);
    expect(stderr).toContain('-o knows json');
  });

  it.each([['impact', 'cm/app'], ['doctor'], ['resume']])(
    'for -n of %s, and the cluster is not asked',
    async (...argv) => {
      const before = api.requests.length;
      expect(await attune(...argv, '-n', name)).toMatchObject({ code: 2, stdout: '' });
      expect(api.requests).toHaveLength(before);
    },
  );
});

describe('who is not let in at all', () => {
  const COMMANDS = [['doctor'], ['explain', 'deployment/web'], ['impact', 'cm/app'], ['resume']];

  it.each(COMMANDS)('%s: by a server that does not know us', async (...argv) => {
    isKnown = false;
    const { code, stderr } = await attune(...argv);
    expect(stderr).toContain(`401 Unauthorized: ${api.connection.server.host} does not accept the token`);
    expect(code).toBeGreaterThan(0);
  });

  it.each(COMMANDS)('%s: by a server that is not there', async (...argv) => {
    const { stderr } = await commandLine({ server: 'https://127.0.0.1:1', authority: '', token: 'hunter2' })(...argv);
    expect(stderr).toMatch(/Unreachable: 127\.0\.0\.1:1: the connection was refused \(ECONNREFUSED\); is it running/);
    expect(stderr).not.toContain('hunter2');
  });
});

it.each(['resume', 'doctor'])('%s does not repeat a word that may be a credential', async (command) => {
  const { code, stderr } = await attune(command, 'https://user:token@example.com');
  expect(code).toBe(2);
  expect(stderr).toContain('only flags are understood here');
  expect(stderr).not.toContain('token');
});

describe('resume', () => {
  const paused = (key: string) => deployment('web', { [key]: '2000-01-01T00:00:00Z' }, { paused: true });

  it('what may not be written is still paused, and nothing else is said', async () => {
    readable = { [`${APPS}/namespaces/shop/deployments`]: [paused(PAUSED_AT)] };
    const { code, stdout, stderr } = await attune('resume', '-n', 'shop');
    expect(stdout).toBe('0 resumed, 1 still paused\n');
    expect(stderr).toContain('Deployment shop/web is still paused: ');
    expect(stderr).toContain('by the default flags: you may not look for Attune');
    expect(code).toBe(1);
  });

  it('knows the keys and the namespaces of every Attune in the cluster', async () => {
    const installed = (name: string, ...args: readonly string[]) => ({
      metadata: { namespace: 'attune', name, uid: name, resourceVersion: '1' },
      spec: { template: { spec: { containers: [{ name: 'attune', image: 'example/attune:1', args }] } } },
    });
    readable = {
      [`${APPS}/deployments`]: [
        installed('one', '--namespaces=blog'),
        installed('two', '--namespaces=shop', '--pause-deployment-time-annotation=example.com/paused'),
      ],
      [`${APPS}/namespaces/blog/deployments`]: [],
      [`${APPS}/namespaces/shop/deployments`]: [paused('example.com/paused')],
    };
    for (const argv of [[], ['-n', 'shop']]) {
      const { stdout, stderr } = await attune('resume', ...argv);
      expect(stderr).toContain('by the flags of Deployment attune/two\n');
      expect(stdout).toContain('1 still paused');
    }
  });

  it.each(['resume', 'doctor'])('%s --help tells where it looks without -n', async (command) => {
    const { stdout } = await attune(command, '--help');
    expect(stdout).toMatch(/--namespace NAMESPACE +where; by default all namespaces/);
  });
});
