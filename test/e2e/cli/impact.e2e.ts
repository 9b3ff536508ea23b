import { expect, it } from 'vitest';
import { api, namespace, serviceAccount } from '../../support/sandbox.ts';
import { podUsing, workload } from '../../support/workloads.ts';
import { commandLine } from './run.ts';

const AUTO = { 'reloader.stakater.com/auto': 'true' };
const APP = { kind: 'ConfigMap', name: 'app' } as const;
const DEFAULTS = '--reload-strategy=env-vars';
const shop = await namespace('impact');
const admin = api();
const attune = commandLine();
const pod = podUsing(APP, 'envFrom');
const apps = `/apis/apps/v1/namespaces/${shop}`;

await admin.create(`/api/v1/namespaces/${shop}/configmaps`, { metadata: { name: 'app' }, data: { a: '1' } });
await admin.create(`${apps}/deployments`, workload('Deployment', 'web', { annotations: AUTO, pod }));
await admin.create(`${apps}/deployments`, workload('Deployment', 'silent', { pod }));
await admin.create(`${apps}/deployments`, workload('Deployment', 'stranger', { annotations: AUTO }));
await admin.create(
  `${apps}/statefulsets`,
  workload('StatefulSet', 'db', { annotations: { 'configmap.reloader.stakater.com/reload': 'x,ap.' } }),
);
await admin.create(
  `/apis/batch/v1/namespaces/${shop}/cronjobs`,
  workload('CronJob', 'nightly', { annotations: AUTO, pod }),
);

it('tells who would roll and why, who would not and why, and leaves out everybody else', async () => {
  const { code, stdout } = await attune('impact', 'cm/app', '-n', shop, '-o', 'json', DEFAULTS);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    source: { kind: 'ConfigMap', namespace: shop, name: 'app' },
    presence: 'present',
    judgedBy: 'the flags given',
    workloads: [
      { workload: { kind: 'StatefulSet', name: 'db' }, rolls: true, because: 'named', action: 'patch' },
      { workload: { kind: 'CronJob', name: 'nightly' }, rolls: true, because: 'auto', action: 'run' },
      { workload: { kind: 'Deployment', name: 'web' }, rolls: true, because: 'auto', action: 'patch' },
      { workload: { kind: 'Deployment', name: 'silent' }, rolls: false, because: 'not-asked' },
    ],
  });
  expect(stdout).not.toContain('stranger');
});

it('for people', async () => {
  const { stdout } = await attune('impact', 'configmap/app', '-n', shop, DEFAULTS);
  expect(stdout).toMatch(/a change reaches 3 of the 4 workloads that use or name it/);
  expect(stdout).toMatch(/✗ +Deployment silent +stays \(not-asked\)/);
  expect(stdout).toMatch(/to roll: set reloader.stakater.com\/auto: "true"/);
});

it('a creation and a deletion reach nobody unless the flags say so', async () => {
  const ask = async (...flags: string[]) =>
    (await attune('impact', 'cm/app', '-n', shop, DEFAULTS, ...flags)).stdout.replaceAll(/\s+/g, ' ');
  expect(await ask()).toContain('creation reaches 0 of the 3 that roll for a change (--reload-on-create is not set)');
  expect(await ask('--reload-on-delete=true')).toContain(
    'deletion reaches 3 of the 3 that roll for a change (--reload-on-delete=true)',
  );
});

it('the flags decide', async () => {
  const { stdout } = await attune(
    'impact',
    'cm/app',
    '-n',
    shop,
    '--auto-reload-all',
    '--ignored-workload-types=cronjobs',
  );
  expect(stdout).toMatch(/reaches 3 of the 4/);
  expect(stdout).toMatch(/CronJob nightly +stays \(kind-ignored\)/);
});

it('a source that only a workload has heard of, and one that nobody has', async () => {
  const named = await attune('impact', 'cm/apx', '-n', shop, DEFAULTS);
  expect(named).toMatchObject({ code: 0, stdout: expect.stringMatching(/it does not exist/) });
  const unknown = await attune('impact', 'cm/nowhere', '-n', shop, DEFAULTS);
  expect(unknown).toMatchObject({ code: 1, stderr: expect.stringMatching(/no workload names it.*\n.*app/) });
});

it('without the right to read Secrets it still answers about them', async () => {
  const read = (apiGroups: string[], resources: string[]) => ({ apiGroups, resources, verbs: ['get', 'list'] });
  const access = await serviceAccount(shop, 'no-secrets', [read(['apps', 'batch'], ['*']), read([''], ['configmaps'])]);
  const uses = { annotations: AUTO, pod: podUsing({ kind: 'Secret', name: 'token' }, 'volume') };
  await admin.create(`${apps}/deployments`, workload('Deployment', 'safe', uses));
  const { code, stdout, stderr } = await commandLine(access)('impact', 'secret/token', '-n', shop, DEFAULTS);
  expect(stderr).toBe('');
  expect(code).toBe(0);
  expect(stdout).toMatch(/✓ +Deployment safe +rolls \(auto\)/);
  expect(stdout).toMatch(/you may not list secrets/);
});
