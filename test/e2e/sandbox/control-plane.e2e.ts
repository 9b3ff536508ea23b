import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { get } from 'node:https';
import { beforeAll, describe, expect, test } from 'vitest';
import { COMPLETE_LABEL, READY_LABEL } from '../../../src/sandbox/control-plane/stages.ts';
import { ifPresent } from '../../../src/sandbox/folders.ts';
import { daemonsIn } from '../../../src/sandbox/processes/daemon.ts';
import { installKinds } from '../../support/crds.ts';
import { type AnyObject, ApiRefusal, api, controlPlane, namespace, serviceAccount } from '../../support/sandbox.ts';
import { until } from '../../support/wait.ts';

let space: string;
beforeAll(async () => {
  space = await namespace('plane');
});

const pods = () => `/api/v1/namespaces/${space}/pods`;
const container = { name: 'main', image: 'nginx' };

const isReady = (pod: AnyObject) =>
  pod['status'].conditions?.some((condition: { type: string; status: string }) => {
    return condition.type === 'Ready' && condition.status === 'True';
  }) === true;

/** The TCP ports on which a process listens. */
function portsOf(pid: number): readonly number[] {
  const links = readdirSync(`/proc/${pid}/fd`).flatMap(
    (fd) => ifPresent(() => readlinkSync(`/proc/${pid}/fd/${fd}`)) ?? [],
  );
  const rows = ['tcp', 'tcp6'].flatMap((table) => readFileSync(`/proc/net/${table}`, 'utf8').split('\n').slice(1));
  return rows
    .map((row) => row.trim().split(/\s+/))
    .filter(([, , , state, , , , , , inode]) => state === '0A' && links.includes(`socket:[${inode}]`))
    .map(([, address = '']) => Number.parseInt(address.split(':').at(-1) ?? '', 16));
}

/** What a stranger on this machine is told. */
const answerTo = (port: number, path: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, path, rejectUnauthorized: false, agent: false };
    get(options, (answer) => resolve(answer.resume().statusCode ?? 0)).once('error', reject);
  });

describe('a sandbox', () => {
  test('tells nobody anything who has no credential', async () => {
    const { dir } = controlPlane();
    const daemons = [...daemonsIn(dir)].filter(([name]) => /^(etcd|kube-.*|kwok)$/.test(name));
    const ports = new Map(daemons.map(([name, { pid }]) => [name, portsOf(pid)]));
    const [one, none] = [[expect.any(Number)], []];
    const servers = { 'kube-apiserver': one, 'kube-controller-manager': one, 'kube-scheduler': one };
    expect(Object.fromEntries(ports)).toEqual({ ...servers, etcd: none, kwok: none });
    for (const port of [...ports.values()].flat()) {
      for (const path of ['/metrics', '/configz', '/debug/pprof/', '/api/v1/secrets']) {
        expect([401, 403], `${port}${path}`).toContain(await answerTo(port, path));
      }
    }
    // Sockets and tokens are in there.
    expect(statSync(dir).mode & 0o777).toBe(0o700);
  });

  test('rolls a Deployment out', async () => {
    const path = `/apis/apps/v1/namespaces/${space}/deployments`;
    const labels = { app: 'web' };
    await api().create(path, {
      metadata: { name: 'web' },
      spec: {
        replicas: 2,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [container] } },
      },
    });
    const web = await until(
      async () => {
        const found = await api().get(`${path}/web`);
        return found['status'].readyReplicas === 2 && found;
      },
      { what: 'two ready replicas' },
    );
    expect(web['status'].updatedReplicas).toBe(2);
  });

  test('keeps a pod unready as long as its label says so', async () => {
    const name = 'unready';
    const label = (value: string | null) =>
      api().patch(`${pods()}/${name}`, { metadata: { labels: { [READY_LABEL]: value } } });
    await api().create(pods(), {
      metadata: { name, labels: { [READY_LABEL]: 'false' } },
      spec: { containers: [container] },
    });
    const running = async () => {
      const pod = await api().get(`${pods()}/${name}`);
      return pod['status'].phase === 'Running' && pod;
    };
    expect(isReady(await until(running, { what: 'the pod running' }))).toBe(false);
    await label(null);
    await until(async () => isReady(await api().get(`${pods()}/${name}`)), { what: 'the pod ready' });
    await label('false');
    await until(async () => !isReady(await api().get(`${pods()}/${name}`)), { what: 'the pod unready again' });
  });

  test.each([
    ['succeeded', 'Complete'],
    ['failed', 'Failed'],
  ])('ends the pod of a Job only when told: %s', async (outcome, condition) => {
    const path = `/apis/batch/v1/namespaces/${space}/jobs`;
    await api().create(path, {
      metadata: { name: outcome },
      spec: { backoffLimit: 0, template: { spec: { restartPolicy: 'Never', containers: [container] } } },
    });
    const active = await until(
      async () => {
        const job = await api().get(`${path}/${outcome}`);
        return job['status'].ready === 1 && job;
      },
      { what: 'the pod of the Job running' },
    );
    expect(active['status'].succeeded).toBeUndefined();
    const [pod] = await api().list(`${pods()}?labelSelector=job-name=${outcome}`);
    await api().patch(`${pods()}/${pod?.metadata.name}`, { metadata: { labels: { [COMPLETE_LABEL]: outcome } } });
    await until(
      async () => {
        const { status } = (await api().get(`${path}/${outcome}`)) as AnyObject;
        return status.conditions?.some((found: { type: string }) => found.type === condition) === true;
      },
      { what: `the Job being ${condition}` },
    );
  });

  test('removes a deleted pod', async () => {
    await api().create(pods(), { metadata: { name: 'short' }, spec: { containers: [container] } });
    await api().delete(`${pods()}/short`);
    await until(async () => (await api().find(`${pods()}/short`)) === undefined, { what: 'the pod being gone' });
  });

  test('lets a ServiceAccount do what its role says and nothing else', async () => {
    const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list'] }];
    const reader = api(await serviceAccount(space, 'reader', rules));
    await until(() => reader.list(`/api/v1/namespaces/${space}/configmaps`), { what: 'the role being in force' });
    const refusal = await reader.list(`/api/v1/namespaces/${space}/secrets`).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(ApiRefusal);
    expect((refusal as ApiRefusal).status).toBe(403);
  });

  test('serves the kinds of others on demand', async () => {
    await installKinds(['Rollout', 'SecretProviderClass', 'SecretProviderClassPodStatus', 'DeploymentConfig']);
    const made = await api().create(`/apis/apps.openshift.io/v1/namespaces/${space}/deploymentconfigs`, {
      apiVersion: 'apps.openshift.io/v1',
      kind: 'DeploymentConfig',
      metadata: { name: 'old' },
      spec: { anything: { goes: true } },
    });
    expect(made['spec'].anything.goes).toBe(true);
  });
});
