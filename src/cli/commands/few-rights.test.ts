import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { commandLine } from '../../../test/e2e/cli/run.ts';
import { listOf, scriptedApi } from '../../../test/support/scripted-api.ts';

/** What the cluster gives for a path; everything else is forbidden. */
let readable: Readonly<Record<string, readonly object[]>> = {};
beforeEach(() => {
  readable = {};
});

const api = await scriptedApi(({ verb, path, json, status }) => {
  const items = readable[path];
  if (items && verb === 'list') json(200, listOf(items, '1'));
  else if (path === '/api/v1/namespaces/nope') status(404, 'NotFound');
  else status(403, 'Forbidden');
});
afterAll(() => api[Symbol.asyncDispose]());
const attune = commandLine({ server: api.connection.server.origin, authority: '', token: 'test' });

const APPS = '/apis/apps/v1';
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

  it('a Reloader that was looked for and is not there is another answer', async () => {
    readable = empty(...EVERYTHING, `${APPS}/deployments`);
    expect(await attune('doctor', '-n', 'shop')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('No Stakater Reloader was found'),
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
    [['shop'], '"shop" is not a flag'],
    [['-o', 'yaml'], '-o knows json'],
  ])('%j is refused', async (argv, hint) => {
    expect(await attune('doctor', ...argv)).toMatchObject({ code: 2, stderr: expect.stringContaining(hint) });
  });
});
