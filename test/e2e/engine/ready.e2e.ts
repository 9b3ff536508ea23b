import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { ApiAccess } from '../../../src/sandbox/control-plane/api-request.ts';
import { Audit } from '../../support/audit.ts';
import { type Controller, startController } from '../../support/controller.ts';
import { faultProxy } from '../../support/proxy.ts';
import { api, controlPlane, namespace, serviceAccount } from '../../support/sandbox.ts';
import { until } from '../../support/wait.ts';
import { movesIn, untilMarked } from '../reloader/moves.ts';
import { COMPAT } from '../reloader/scene.ts';

const SOURCES = { apiGroups: [''], resources: ['configmaps', 'secrets'], verbs: ['get', 'list', 'watch'] };
const WORKLOADS = {
  apiGroups: ['apps', 'batch'],
  resources: ['deployments', 'daemonsets', 'statefulsets', 'cronjobs', 'jobs'],
  verbs: ['get', 'list', 'watch', 'patch'],
};
const OWN = { apiGroups: [''], resources: ['configmaps', 'secrets'], verbs: ['get', 'create', 'update'] };

const LEASE = {
  apiGroups: ['coordination.k8s.io'],
  resources: ['leases'],
  verbs: ['get', 'create', 'update', 'watch'],
};

const status = async (attune: Controller) => (await attune.ask('/readyz')).status;
const untilReady = (attune: Controller, code: 200 | 503) =>
  until(async () => (await status(attune)) === code, { what: `/readyz ${code}`, deadlineMs: 120_000 });
const about = (attune: Controller, pattern: RegExp) => attune.lines.filter((line) => pattern.test(line));
const NOT_READY = /Attune is not ready/;
const READY = /Attune is ready/;

/** A ServiceAccount whose rights the test changes, and a namespace to watch. */
async function account(...rules: readonly object[]) {
  const home = await namespace('ready');
  const access = await serviceAccount(home, 'attune', rules);
  const role = `/apis/rbac.authorization.k8s.io/v1/clusterroles/${home}-attune`;
  const isAllowed = () =>
    api(access)
      .list(`/api/v1/namespaces/${home}/secrets`)
      .then(
        () => true,
        () => false,
      );
  const grant = async (...granted: readonly object[]) => {
    await api().patch(role, { rules: granted });
    const expected = granted.includes(SOURCES);
    await until(async () => (await isAllowed()) === expected, { what: 'the rights in force' });
  };
  const start = (flags: readonly string[] = [], through: ApiAccess = access) =>
    startController({
      home,
      access: through,
      env: { POD_NAME: 'attune' },
      flags: [`--namespaces=${home}`, ...flags],
      untilReady: false,
    });
  return { home, access, grant, start };
}

test('without rights it is not ready and says what is missing; with them it is; when they are withdrawn it is not', async () => {
  const { access, grant, start } = await account();
  const proxy = await faultProxy({ through: access });
  await using attune = await start([], proxy.access);
  const line = await attune.untilLine(NOT_READY);
  expect(line).toContain('level=error');
  expect(line).toMatch(/configmaps.*secrets.*deployments/);
  expect(line).toMatch(/grant list and watch on configmaps or secrets.*list, watch and patch on deployments/);
  expect(await status(attune)).toBe(503);
  await grant(OWN, SOURCES);
  await attune.untilLine(/Attune is not ready: it may not list deployments/);
  await grant(OWN, SOURCES, WORKLOADS);
  await untilReady(attune, 200);
  await attune.untilLine(READY);
  expect(about(attune, READY)).toHaveLength(1);
  await grant(OWN);
  proxy.cutWatches();
  await untilReady(attune, 503);
  expect(await attune.untilLine(/Attune is not ready any more/)).toContain('level=error');
  await grant(OWN, SOURCES, WORKLOADS);
  await untilReady(attune, 200);
  await until(() => about(attune, READY).length === 2, { what: 'told again' });
  expect(await attune.stop()).toBe(0);
  expect(about(attune, READY)).toHaveLength(2);
});

test('sources that may be listed and not watched bring no news: not ready', async () => {
  const { start } = await account(OWN, { ...SOURCES, verbs: ['get', 'list'] }, WORKLOADS);
  await using attune = await start();
  expect(await attune.untilLine(NOT_READY)).toContain('grant list and watch on configmaps or secrets');
  expect(about(attune, READY)).toEqual([]);
  expect(await status(attune)).toBe(503);
});

test('whose rights came late is ready when dying would lose nothing', async () => {
  const { home, grant, start } = await account(OWN);
  const moves = movesIn(home);
  await moves.createSource('ConfigMap', 'app', { value: '1' });
  await moves.createUser('web', 'app');
  await using audit = await Audit.of(home, ['Deployment']);
  {
    await using attune = await start();
    await attune.untilLine(NOT_READY);
    await grant(OWN, SOURCES, WORKLOADS);
    await untilReady(attune, 200);
    await attune.kill9();
  }
  await moves.setData('ConfigMap', 'app', { value: '2' });
  await using _again = await start();
  await untilMarked(audit, 'Deployment', 'web', { value: '2' });
});

test('an outage is told, and changes nothing about being ready', async () => {
  const { access, start } = await account(OWN, SOURCES, WORKLOADS);
  const proxy = await faultProxy({ through: access });
  await using attune = await start([], proxy.access);
  await untilReady(attune, 200);
  proxy.setRules([{ fault: { type: 'status', code: 503 } }]);
  proxy.cutWatches();
  expect(await attune.untilLine(/waiting for the API server: .*: 503/)).toContain('level=warning');
  expect(await status(attune)).toBe(200);
  expect(about(attune, NOT_READY)).toEqual([]);
});

test('--enable-ha: who may not take the Lease is not ready to take over', async () => {
  const { grant, start } = await account(OWN, SOURCES, WORKLOADS);
  await using attune = await start(['--enable-ha']);
  await attune.untilLine(/Attune is not ready: .*election/);
  expect(about(attune, READY)).toEqual([]);
  expect(await status(attune)).toBe(503);
  await grant(OWN, SOURCES, WORKLOADS, LEASE);
  await untilReady(attune, 200);
});

test('one namespace of several is enough, but only if source and workload are in the same', async () => {
  const { home, access } = await account(OWN);
  const other = await namespace('ready-other');
  const bind = async (space: string, rule: object) => {
    const path = `/apis/rbac.authorization.k8s.io/v1/namespaces/${space}`;
    const metadata = { name: 'granted' };
    await api().create(`${path}/roles`, { metadata, rules: [rule] });
    await api().create(`${path}/rolebindings`, {
      metadata,
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'granted' },
      subjects: [{ kind: 'ServiceAccount', name: 'attune', namespace: home }],
    });
  };
  const flags = [`--namespaces=${home},${other}`];
  await bind(home, SOURCES);
  await bind(other, WORKLOADS);
  await using attune = await startController({ home, access, flags, untilReady: false });
  await attune.untilLine(/Attune is not ready: .*in the same namespace/);
  const role = `/apis/rbac.authorization.k8s.io/v1/namespaces/${other}/roles/granted`;
  await api().patch(role, { rules: [SOURCES, WORKLOADS] });
  await untilReady(attune, 200);
});

test.each([
  ['--webhook-url: sources are enough', [SOURCES], ['--webhook-url=http://127.0.0.1:9']],
  ['--enable-ha: a standby, too, needs rights to take over', [SOURCES, WORKLOADS], ['--enable-ha']],
  [
    'ignored sources are not missed',
    [{ ...SOURCES, resources: ['secrets'] }, WORKLOADS],
    ['--resources-to-ignore=configMaps'],
  ],
])('%s', async (_, rules, flags) => {
  const { grant, start } = await account(OWN, LEASE);
  await using attune = await start(flags);
  await attune.untilLine(NOT_READY);
  expect(await status(attune)).toBe(503);
  await grant(OWN, LEASE, SOURCES, ...rules);
  await untilReady(attune, 200);
});

test('--compat=stakater: ready as upstream is, whatever its rights', async () => {
  const { start } = await account();
  await using attune = await start([COMPAT]);
  await untilReady(attune, 200);
  expect(about(attune, NOT_READY)).toEqual([]);
});

test.each([true, false])(
  'a wrong token is told once, and nothing at the end says ready (own namespace: %s)',
  async (own) => {
    const home = await namespace('wrong-token');
    const proxy = await faultProxy({ through: { ...controlPlane(), token: 'hunter2' } });
    const env = own ? {} : { POD_NAMESPACE: '' };
    await using attune = await startController({ home, access: proxy.access, env, untilReady: false });
    const line = await attune.untilLine(NOT_READY);
    expect(line).toContain('level=error');
    expect(line).toContain(`${new URL(proxy.access.server).host} does not accept the token`);
    const asked = () => [...proxy.counts.values()].reduce((sum, count) => sum + count, 0);
    const before = asked();
    await until(() => asked() > before + 1, { what: 'it is tried again' });
    expect(await status(attune)).toBe(503);
    expect(await attune.stop()).toBe(0);
    expect(about(attune, NOT_READY)).toHaveLength(1);
    expect(about(attune, READY)).toEqual([]);
    expect(attune.lines.join('\n')).not.toContain('hunter2');
  },
);

test('a token file that is rotated is read again', async () => {
  const { home, access } = await account(OWN, SOURCES, WORKLOADS);
  const folder = mkdtempSync(join(tmpdir(), 'attune-token-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const kubeconfig = join(folder, 'kubeconfig');
  const writeToken = (token: string) => {
    writeFileSync(join(folder, 'next'), token);
    renameSync(join(folder, 'next'), join(folder, 'token'));
  };
  writeToken('hunter2');
  const authority = Buffer.from(access.authority).toString('base64');
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      'current-context': 'x',
      contexts: [{ name: 'x', context: { cluster: 'x', user: 'x' } }],
      clusters: [{ name: 'x', cluster: { server: access.server, 'certificate-authority-data': authority } }],
      users: [{ name: 'x', user: { tokenFile: 'token' } }],
    }),
  );
  const env = { KUBECONFIG: kubeconfig };
  await using attune = await startController({ home, access, env, flags: [`--namespaces=${home}`], untilReady: false });
  await attune.untilLine(NOT_READY);
  writeToken(access.token);
  await untilReady(attune, 200);
});
