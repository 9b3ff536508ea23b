import { createHash } from 'node:crypto';
import { beforeAll, expect, test } from 'vitest';
import type { Controller } from '../../support/controller.ts';
import { installKinds } from '../../support/crds.ts';
import { api } from '../../support/sandbox.ts';
import { until } from '../../support/wait.ts';
import { AUTO, marksOf } from './moves.ts';
import { COMPAT, DEFAULT, MODES, type Scene, scene } from './scene.ts';

const ON = '--enable-csi-integration';
const GROUP = 'secrets-store.csi.x-k8s.io';

beforeAll(() => installKinds(['SecretProviderClass', 'SecretProviderClassPodStatus']));

const statuses = (here: Scene, name = '') =>
  `/apis/${GROUP}/v1/namespaces/${here.space}/secretproviderclasspodstatuses/${name}`;

const objects = (version: string) => [
  { id: 'secret/password', version },
  { id: 'secret/username', version: 'v1' },
];
const statusOf = (className: string, pod: string, version: string) => ({
  apiVersion: `${GROUP}/v1`,
  kind: 'SecretProviderClassPodStatus',
  metadata: { name: `${pod}-${className}` },
  status: {
    secretProviderClassName: className,
    podName: pod,
    mounted: true,
    targetPath: `/pods/${pod}`,
    objects: objects(version),
  },
});
const mount = (here: Scene, className: string, pod: string, version: string) =>
  api().create(statuses(here), statusOf(className, pod, version));
const rotate = (here: Scene, className: string, pod: string, version: string) =>
  api().patch(statuses(here, `${pod}-${className}`), { status: { objects: objects(version) } });
const unmount = (here: Scene, className: string, pod: string) => api().delete(statuses(here, `${pod}-${className}`));

const hash = (className: string, version: string) =>
  createHash('sha1')
    .update(`SecretProviderClassName=${className};secret/password=${version};secret/username=v1`)
    .digest('hex');

function podWithClasses(...classes: readonly string[]) {
  const volumes = classes.map((secretProviderClass) => ({
    name: secretProviderClass,
    csi: { driver: 'secrets-store.csi.k8s.io', readOnly: true, volumeAttributes: { secretProviderClass } },
  }));
  const volumeMounts = classes.map((name) => ({ name, mountPath: `/${name}` }));
  return { containers: [{ name: 'app', image: 'app', volumeMounts }], volumes };
}

const createClass = (here: Scene, name: string, annotations = {}) =>
  api().create(`/apis/${GROUP}/v1/namespaces/${here.space}/secretproviderclasses`, {
    apiVersion: `${GROUP}/v1`,
    kind: 'SecretProviderClass',
    metadata: { name, annotations },
    spec: { provider: 'vault', parameters: {} },
  });

/** How many events of pod statuses it has had: no fence of other kinds tells that. */
const heard = async (attune: Controller): Promise<number> =>
  (await attune.metric('reloader_events_received_total', { resource_type: 'secretproviderclasspodstatuses' })) ?? 0;

const PODS = Array.from({ length: 20 }, (_, n) => `web-${n}`);
const rollouts = (here: Scene, name: string) => here.audit.templates('Deployment', name).length - 1;
const variableOf = (className: string) =>
  `app/STAKATER_${className.toUpperCase().replaceAll('-', '_')}_SECRETPROVIDERCLASS`;
const untilMark = (here: Scene, name: string, className: string, version: string) =>
  here.audit.until(`${name} marked for ${className} ${version}`, () => {
    const seen = here.audit.latest('Deployment', name);
    const text = JSON.stringify(seen?.['spec'].template ?? {});
    return text.includes(hash(className, version)) && seen;
  });

test.each([
  [DEFAULT, 'env-vars'],
  [DEFAULT, 'annotations'],
  [COMPAT, 'env-vars'],
])('20 pods, a rotation that spreads, two classes: one rollout per class: %s, %s', async (mode, strategy) => {
  await using here = await scene();
  for (const name of ['vault-db', 'vault-mq']) await createClass(here, name);
  await here.create('Deployment', 'web', { annotations: AUTO, pod: podWithClasses('vault-db', 'vault-mq') });
  for (const pod of PODS) {
    await Promise.all([mount(here, 'vault-db', pod, 'v1'), mount(here, 'vault-mq', pod, 'v1')]);
  }
  await here.start([mode, ON, `--reload-strategy=${strategy}`]);

  // The first pods see the new value, and the rollout begins; new pods come with it, old ones follow or go.
  for (const pod of PODS.slice(0, 3)) await rotate(here, 'vault-db', pod, 'v2');
  await untilMark(here, 'web', 'vault-db', 'v2');
  for (const pod of PODS.slice(3, 12)) await rotate(here, 'vault-db', pod, 'v2');
  for (const pod of PODS.slice(12, 18)) {
    await unmount(here, 'vault-db', pod);
    // A node whose copy is old mounts the old value, and follows.
    await mount(here, 'vault-db', `new-${pod}`, 'v1');
    await mount(here, 'vault-mq', `new-${pod}`, 'v1');
    await rotate(here, 'vault-db', `new-${pod}`, 'v2');
  }
  // The last ones to hear of it, and one that never does.
  await rotate(here, 'vault-db', PODS[18] ?? '', 'v2');
  await here.fence.pass();
  expect(rollouts(here, 'web')).toBe(1);

  for (const pod of PODS) await rotate(here, 'vault-mq', pod, 'v2');
  const last = await untilMark(here, 'web', 'vault-mq', 'v2');
  await here.fence.pass();
  expect(rollouts(here, 'web')).toBe(2);
  if (strategy === 'env-vars') {
    expect(marksOf('Deployment', last)).toEqual({
      [variableOf('vault-db')]: hash('vault-db', 'v2'),
      [variableOf('vault-mq')]: hash('vault-mq', 'v2'),
    });
  }
});

test('a pod that is two rotations behind does not bring the class back', async () => {
  await using here = await scene();
  await createClass(here, 'db');
  await here.create('Deployment', 'web', { annotations: AUTO, pod: podWithClasses('db') });
  const [first = '', second = '', late = ''] = PODS;
  for (const pod of [first, second, late]) await mount(here, 'db', pod, 'v1');
  const attune = await here.start([DEFAULT, ON]);
  for (const version of ['v2', 'v3']) {
    for (const pod of [first, second]) await rotate(here, 'db', pod, version);
    await untilMark(here, 'web', 'db', version);
  }
  // The three that were listed, and two rotations of two.
  await until(async () => (await heard(attune)) >= 7, { what: 'all of that being heard' });
  const steps = [
    () => rotate(here, 'db', late, 'v2'),
    () => mount(here, 'db', 'later-still', 'v2'),
    () => unmount(here, 'db', first),
    () => rotate(here, 'db', late, 'v3'),
  ];
  for (const step of steps) {
    const before = await heard(attune);
    await step();
    await until(async () => (await heard(attune)) > before, { what: 'the step being heard' });
    // One by one: there and back within a quiet period would prove nothing.
    await here.fence.pass();
  }
  expect(rollouts(here, 'web')).toBe(2);
  expect(marksOf('Deployment', here.audit.latest('Deployment', 'web'))).toEqual({
    [variableOf('db')]: hash('db', 'v3'),
  });
});

test.each(MODES)('named, excluded, ignored and unused classes; and nothing without the flag: %s', async (mode) => {
  await using here = await scene();
  await createClass(here, 'db');
  await createClass(here, 'quiet', { 'reloader.stakater.com/ignore': 'true' });
  const pod = podWithClasses('db', 'quiet');
  const key = 'secretproviderclass.reloader.stakater.com';
  const exclude = { 'secretproviderclasses.exclude.reloader.stakater.com/reload': 'db' };
  await here.create('Deployment', 'named', { annotations: { [`${key}/reload`]: 'd.' } });
  await here.create('Deployment', 'typed', { annotations: { [`${key}/auto`]: 'true' }, pod });
  await here.create('Deployment', 'excluded', { annotations: { ...AUTO, ...exclude }, pod });
  await here.create('Deployment', 'unused', { annotations: AUTO, pod: podWithClasses('third') });
  for (const name of ['db', 'quiet']) await mount(here, name, 'web-0', 'v1');
  const off = await here.start([mode]);
  await rotate(here, 'db', 'web-0', 'v2');
  await here.fence.pass();
  for (const name of ['named', 'typed', 'excluded', 'unused']) expect(rollouts(here, name)).toBe(0);
  await off.stop();

  await here.start([mode, ON]);
  await rotate(here, 'quiet', 'web-0', 'v3');
  await rotate(here, 'db', 'web-0', 'v3');
  await untilMark(here, 'named', 'db', 'v3');
  await untilMark(here, 'typed', 'db', 'v3');
  await here.fence.pass();
  const counts = ['named', 'typed', 'excluded', 'unused'].map((name) => rollouts(here, name));
  expect(counts).toEqual([1, 1, 0, 0]);
});

test('a rotation during a downtime is caught up once', async () => {
  await using here = await scene();
  await createClass(here, 'db');
  await here.create('Deployment', 'web', { annotations: AUTO, pod: podWithClasses('db') });
  for (const pod of PODS.slice(0, 3)) await mount(here, 'db', pod, 'v1');
  const attune = await here.start([DEFAULT, ON]);
  await here.fence.pass();
  await attune.stop();
  for (const pod of PODS.slice(0, 3)) await rotate(here, 'db', pod, 'v2');
  await here.start([DEFAULT, ON]);
  await untilMark(here, 'web', 'db', 'v2');
  await here.fence.pass();
  expect(rollouts(here, 'web')).toBe(1);
});
