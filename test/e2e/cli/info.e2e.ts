import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import type { WorkloadReport } from '../../../src/cli/explain/explain-text.ts';
import { VERSION } from '../../../src/cli/version.ts';
import type { ApiAccess } from '../../../src/sandbox/control-plane/api-request.ts';
import { type Controller, type Stage, stage } from '../../support/controller.ts';
import { type AnyObject, api, serviceAccount, serviceAccountAccess } from '../../support/sandbox.ts';
import { until } from '../../support/wait.ts';
import { podUsing, workload } from '../../support/workloads.ts';
import { commandLine } from './run.ts';

const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const admin = api();
let place: Stage;
let tenant: ApiAccess;
const infoPath = () => `/api/v1/namespaces/${place.home}/configmaps/attune-info`;
const published = (flags: string): Promise<AnyObject> =>
  until(
    async () => {
      const found = await admin.find(infoPath());
      return found?.['data'].flags === flags && found;
    },
    { what: `attune-info with ${flags}` },
  );
const started = async (...flags: string[]): Promise<[Controller, AnyObject]> => {
  const controller = await place.start(flags);
  return [controller, await published([`--namespaces=${place.space}`, ...flags].join('\n'))];
};

/** Somebody with rights in one namespace, and in no other. */
async function tenantOf(namespace: string): Promise<ApiAccess> {
  const metadata = { name: 'tenant' };
  await admin.create(`/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata });
  const verbs = ['get', 'list', 'watch'];
  const rules = [{ apiGroups: ['', 'apps', 'batch', 'events.k8s.io'], resources: ['*'], verbs }];
  await admin.create(`${RBAC}/namespaces/${namespace}/roles`, { metadata, rules });
  await admin.create(`${RBAC}/namespaces/${namespace}/rolebindings`, {
    metadata,
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'tenant' },
    subjects: [{ kind: 'ServiceAccount', name: 'tenant', namespace }],
  });
  const access = await serviceAccountAccess(namespace, 'tenant');
  await until(() => api(access).list(`/api/v1/namespaces/${namespace}/configmaps`), { what: 'its rights' });
  return access;
}

/** What the manifests grant to everybody, where this Attune is at home. */
async function letEverybodyRead(): Promise<void> {
  const text = readFileSync(new URL('../../../deploy/attune.yaml', import.meta.url), 'utf8');
  const shipped = parseAllDocuments(text).map((document) => document.toJS() as AnyObject);
  for (const [kind, plural] of [['Role', 'roles'] as const, ['RoleBinding', 'rolebindings'] as const]) {
    const object = shipped.find((each) => each.kind === kind && each.metadata.name === 'attune-info');
    const metadata = { name: 'attune-info', namespace: place.home };
    await admin.create(`${RBAC}/namespaces/${place.home}/${plural}`, { ...object, metadata });
  }
}

beforeAll(async () => {
  place = await stage();
  tenant = await tenantOf(place.space);
  await admin.create(`/api/v1/namespaces/${place.space}/configmaps`, { metadata: { name: 'app' }, data: { a: '1' } });
  const pod = podUsing({ kind: 'ConfigMap', name: 'app' }, 'envFrom');
  await admin.create(`/apis/apps/v1/namespaces/${place.space}/deployments`, workload('Deployment', 'plain', { pod }));
});
afterAll(() => place[Symbol.asyncDispose]());

async function explained(access: ApiAccess, ...argv: readonly string[]): Promise<WorkloadReport> {
  const attune = commandLine(access);
  const { code, stdout, stderr } = await attune('explain', 'deploy/plain', '-n', place.space, '-o', 'json', ...argv);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout);
}

describe('what a controller tells of itself', () => {
  it('is version, mode and flags, and is written when it differs, also after kill -9', async () => {
    const [first, told] = await started('--auto-reload-all=true');
    expect(told['data']).toEqual({
      version: VERSION,
      mode: 'default',
      identity: hostname(),
      flags: `--namespaces=${place.space}\n--auto-reload-all=true`,
      withheld: '',
      publishedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
    });
    await first.kill9();

    const [second, other] = await started('--reload-on-create=true');
    expect(other.metadata.uid).toBe(told.metadata.uid);
    await second.stop();
    const [third, same] = await started('--reload-on-create=true');
    // Who has begun to roll has looked at it before.
    await admin.patch(`/apis/apps/v1/namespaces/${place.space}/deployments/plain`, {
      metadata: { annotations: { 'reloader.stakater.com/auto': 'true' } },
    });
    await admin.patch(`/api/v1/namespaces/${place.space}/configmaps/app`, { data: { a: '2' } });
    await third.untilLine(/Changes detected in 'app'/);
    await third.stop();
    expect((await admin.get(infoPath())).metadata.resourceVersion).toBe(same.metadata.resourceVersion);
    expect(same.metadata.resourceVersion).toBe(other.metadata.resourceVersion);
    await admin.patch(`/apis/apps/v1/namespaces/${place.space}/deployments/plain`, {
      metadata: { annotations: { 'reloader.stakater.com/auto': null } },
    });
  });

  it('is told by the one who leads, and by the next one when it does', async () => {
    const replica = (name: string) => place.start(['--enable-ha=true'], { env: { POD_NAME: name } });
    const identity = async () => (await admin.get(infoPath()))['data'].identity;
    const one = await replica('one');
    await until(async () => (await identity()) === 'one', { what: 'the word of the first' });
    // A standby is ready when it could take over.
    const two = await replica('two');
    expect(await identity()).toBe('one');
    await one.stop();
    await until(async () => (await identity()) === 'two', { what: 'the word of the second' });
    await two.stop();
  });

  it('is nothing that may be a password', async () => {
    const controller = await place.start(['--webhook-url=http://user:hunter2@127.0.0.1:9/hunter3'], {
      env: { ALERT_WEBHOOK_URL: 'http://127.0.0.1:9/hunter4', ALERT_ADDITIONAL_INFO: 'hunter5' },
    });
    const told = await published(`--namespaces=${place.space}`);
    expect(told['data'].withheld).toBe('webhook-url');
    expect(JSON.stringify(told)).not.toContain('hunter');
    const { sources, judgedBy } = await explained(await serviceAccount(place.space, 'all', [EVERYTHING]));
    expect(judgedBy).toContain('--webhook-url=…');
    expect(sources).toMatchObject([{ rolls: false, rule: expect.stringContaining('--webhook-url is set') }]);
    await controller.stop();
  });
});

const EVERYTHING = { apiGroups: ['*'], resources: ['*'], verbs: ['get', 'list'] };

describe('a tenant of one namespace, and a controller outside of the cluster', () => {
  const where = () => `--attune-namespace=${place.home}`;
  let controller: Controller;
  beforeAll(async () => {
    [controller] = await started('--auto-reload-all=true');
  });
  afterAll(() => controller.stop());

  it('is told what may not be read, and is judged by the defaults', async () => {
    const { judgedBy, sources } = await explained(tenant, where());
    expect(judgedBy).toBe(
      `the default flags: you may not read ConfigMap ${place.home}/attune-info, which has those of Attune; give them here`,
    );
    expect(sources).toMatchObject([{ because: 'not-asked' }]);
    expect((await explained(tenant)).judgedBy).toMatch(
      new RegExp(`^the default flags: you may not look for Attune, and no .* in ${place.space}, attune, reloader; `),
    );
  });

  it('is judged by the right flags with the one right that the chart gives to everybody', async () => {
    await letEverybodyRead();
    await until(() => api(tenant).find(infoPath()), { what: 'the right in force' });
    const right = {
      judgedBy: expect.stringMatching(
        new RegExp(`^the flags of ConfigMap ${place.home}/attune-info \\(.*\\): .*--auto-reload-all=true$`),
      ),
      sources: [{ because: 'auto-reload-all' }],
    };
    expect(await explained(tenant, where())).toMatchObject(right);
    // By the variable of those who run a controller by hand, too.
    const attune = commandLine(tenant, { ATTUNE_NAMESPACE: place.home });
    const { stdout } = await attune('explain', 'deploy/plain', '-n', place.space, '-o', 'json');
    expect(JSON.parse(stdout)).toMatchObject(right);
    const impact = await commandLine(tenant)('impact', 'cm/app', '-n', place.space, where());
    expect(impact.stdout).toMatch(/✓ +Deployment plain +rolls \(auto-reload-all\)/);
    await expect(api(tenant).list(`/api/v1/namespaces/${place.home}/configmaps`)).rejects.toThrow(/403/);
  });
});
