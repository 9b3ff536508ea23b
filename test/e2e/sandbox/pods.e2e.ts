import { execPath } from 'node:process';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, test } from 'vitest';
import { podRunner } from '../../support/pod-runner.ts';
import { type AnyObject, api, controlPlane, namespace } from '../../support/sandbox.ts';
import { until } from '../../support/wait.ts';

const program = [execPath, fileURLToPath(new URL('pod-program.mjs', import.meta.url))];
let space: string;
beforeAll(async () => {
  space = await namespace('pods');
  await podRunner({ namespace: space, program, images: ['attune', 'reloader'] });
});

const path = (name = '') => `/api/v1/namespaces/${space}/pods/${name}`;
const probe = (target: string) => ({ httpGet: { path: target, port: 'http' }, periodSeconds: 1, failureThreshold: 1 });

async function createPod(name: string, container: object, spec: object = {}): Promise<void> {
  const containers = [
    {
      name: 'main',
      image: 'ghcr.io/somebody/attune:1.2',
      ports: [{ name: 'http', containerPort: 9090 }],
      ...container,
    },
  ];
  await api().create(path(), { metadata: { name, labels: { who: name } }, spec: { containers, ...spec } });
}

async function podWith(name: string, what: string, condition: (pod: AnyObject) => boolean): Promise<AnyObject> {
  return await until(
    async () => {
      const pod = await api().get(path(name));
      return condition(pod) && pod;
    },
    { what },
  );
}

const isReady = (pod: AnyObject): boolean =>
  pod['status'].conditions?.some(({ type, status }: Condition) => type === 'Ready' && status === 'True') ?? false;
interface Condition {
  readonly type: string;
  readonly status: string;
}

const ask = async (pod: AnyObject, target: string) =>
  await (await fetch(`http://${pod['status'].podIP}:9090${target}`)).text();

const running = (name: string) =>
  podWith(name, `${name} listening`, (pod) => pod['status'].phase === 'Running').then(async (pod) => {
    await until(() => ask(pod, '/').then(() => true), { what: `${name} answering` });
    return pod;
  });

test('a pod gets its arguments, its environment and a token of its own ServiceAccount', async () => {
  const admin = api();
  await admin.create(`/api/v1/namespaces/${space}/secrets`, { metadata: { name: 's' }, stringData: { key: 'hidden' } });
  await admin.create(`/api/v1/namespaces/${space}/configmaps`, { metadata: { name: 'c' }, data: { key: 'seen' } });
  await createPod('facts', {
    args: ['serve', '--of=$(T_NAME)', '$$(T_NAME)'],
    env: [
      { name: 'T_PLAIN', value: 'plain' },
      { name: 'T_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
      { name: 'T_SPACE', valueFrom: { fieldRef: { fieldPath: 'metadata.namespace' } } },
      { name: 'T_LABEL', valueFrom: { fieldRef: { fieldPath: "metadata.labels['who']" } } },
      { name: 'T_IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
      { name: 'T_MEMORY', valueFrom: { resourceFieldRef: { resource: 'limits.memory' } } },
      { name: 'T_SECRET', valueFrom: { secretKeyRef: { name: 's', key: 'key' } } },
      { name: 'T_CONFIG', valueFrom: { configMapKeyRef: { name: 'c', key: 'key' } } },
      { name: 'T_NONE', valueFrom: { configMapKeyRef: { name: 'none', key: 'key', optional: true } } },
    ],
    envFrom: [{ prefix: 'T_ALL_', configMapRef: { name: 'c' } }],
    resources: { limits: { memory: '64Mi' } },
  });
  const pod = await running('facts');
  const facts = JSON.parse(await ask(pod, '/facts'));
  expect(facts).toMatchObject({ args: ['--of=facts', '$(T_NAME)'], hostname: 'facts', address: pod['status'].podIP });
  expect(facts.own).toEqual({
    T_PLAIN: 'plain',
    T_NAME: 'facts',
    T_SPACE: space,
    T_LABEL: 'facts',
    T_IP: pod['status'].podIP,
    T_MEMORY: String(64 * 1024 * 1024),
    T_SECRET: 'hidden',
    T_CONFIG: 'seen',
    T_ALL_key: 'seen',
  });
  const review = await api({ ...controlPlane(), token: facts.token }).create(
    '/apis/authentication.k8s.io/v1/selfsubjectreviews',
    {},
  );
  expect(review['status'].userInfo.username).toBe(`system:serviceaccount:${space}:default`);
});

test('two replicas have addresses of their own, and their probes decide whether they are ready', async () => {
  const labels = { app: 'two' };
  const container = {
    name: 'main',
    image: 'attune',
    ports: [{ name: 'http', containerPort: 9090 }],
    readinessProbe: probe('/readyz'),
  };
  const deployments = `/apis/apps/v1/namespaces/${space}/deployments`;
  await api().create(deployments, {
    metadata: { name: 'two' },
    spec: {
      replicas: 2,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [container] } },
    },
  });
  const pods = await until(
    async () => {
      const found = await api().list(`${path()}?labelSelector=app=two`);
      return found.length === 2 && found.every((pod) => pod['status'].podIP) && found;
    },
    { what: 'two pods with addresses' },
  );
  expect(new Set(pods.map((pod) => pod['status'].podIP)).size).toBe(2);
  expect(pods.some(isReady)).toBe(false);
  for (const pod of pods) await until(() => ask(pod, '/ready!').then(() => true), { what: 'the pod answering' });
  const readyReplicas = (count: number) =>
    until(async () => ((await api().get(`${deployments}/two`))['status'].readyReplicas ?? 0) === count, {
      what: `${count} ready replicas`,
    });
  await readyReplicas(2);
  const [first] = pods;
  if (first) await ask(first, '/unready');
  await readyReplicas(1);
});

test('a container that fails its liveness probe is started again', async () => {
  await createPod('mortal', {
    // Else a process that takes more than two seconds to listen would be ended before anybody asks for it.
    startupProbe: { ...probe('/'), failureThreshold: 60 },
    livenessProbe: { ...probe('/live'), failureThreshold: 3 },
  });
  const pod = await running('mortal');
  await ask(pod, '/die');
  const again = await podWith(
    'mortal',
    'a restart',
    (found) => found['status'].containerStatuses[0].restartCount === 1,
  );
  expect(again['status'].containerStatuses[0].lastState.terminated.exitCode).toBe(137);
});

test.each([
  [0, 'Succeeded'],
  [3, 'Failed'],
])('a pod that is not to be restarted and ends with %i has %s', async (code, phase) => {
  await createPod(`ends-${code}`, { args: ['exit', String(code)] }, { restartPolicy: 'Never' });
  const pod = await podWith(`ends-${code}`, phase, (found) => found['status'].phase === phase);
  expect(pod['status'].containerStatuses[0].state.terminated.exitCode).toBe(code);
});

test('a Job of our image completes with its process', async () => {
  const jobs = `/apis/batch/v1/namespaces/${space}/jobs`;
  const containers = [{ name: 'main', image: 'stakater/reloader:v1', args: ['exit', '0'] }];
  await api().create(jobs, {
    metadata: { name: 'hook' },
    spec: { template: { spec: { restartPolicy: 'Never', containers } } },
  });
  await until(async () => (await api().get(`${jobs}/hook`))['status'].succeeded === 1, { what: 'the Job succeeding' });
});

test('a deleted pod is asked to end, killed after its grace, and then forgotten', async () => {
  await createPod('stubborn', { args: ['stubborn'] }, { terminationGracePeriodSeconds: 10 });
  const pod = await running('stubborn');
  await api().delete(path('stubborn'));
  // Within its grace, which is long enough for one question.
  expect(await ask(pod, '/')).toBe('');
  await until(async () => (await api().find(path('stubborn'))) === undefined, { what: 'the pod being gone' });
  await expect(ask(pod, '/')).rejects.toThrow();
});

test('a pod waits for the Secret that its environment needs', async () => {
  const env = [{ name: 'T_LATE', valueFrom: { secretKeyRef: { name: 'late', key: 'key' } } }];
  await createPod('waiting', { env });
  await podWith('waiting', 'the problem being named', (pod) => {
    return pod['status'].containerStatuses?.[0].state.waiting?.reason === 'CreateContainerConfigError';
  });
  await api().create(`/api/v1/namespaces/${space}/secrets`, { metadata: { name: 'late' }, stringData: { key: 'now' } });
  expect(JSON.parse(await ask(await running('waiting'), '/facts')).own).toEqual({ T_LATE: 'now' });
});
