import { beforeEach, expect, test } from 'vitest';
import { RETRY } from '../../../src/api/annotations.ts';
import { eventually } from '../../support/eventually.ts';
import { faultProxy } from '../../support/proxy.ts';
import { api } from '../../support/sandbox.ts';
import { until } from '../../support/wait.ts';
import { isObserved, pathOf, podUsing, sha1 } from '../../support/workloads.ts';
import { AUTO, marksOf, untilMarked } from '../reloader/moves.ts';
import { DEFAULT, type Scene, scene } from '../reloader/scene.ts';

const proxy = await faultProxy();
beforeEach(() => {
  proxy.setRules([]);
  proxy.resetCounts();
});

const value = (n: number) => ({ value: String(n) });
const pod = podUsing({ kind: 'ConfigMap', name: 'app' }, 'envFrom');
const tries = () => proxy.counts.get('patch statefulsets') ?? 0;
// A refusal doubles the wait: after a long time of trying the next try is a minute away.
const NEXT_TRY_MS = 150_000;

/** Its own controller writes no status any more: what is refused for an old version is tried again at once. */
const untilObserved = ({ audit }: Scene) =>
  audit.until('the StatefulSet is observed', () => isObserved(audit.latest('StatefulSet', 'db')));

/** A StatefulSet that may be refused, and a Deployment that uses the same source and is not. */
async function prepared() {
  const here = await scene(['StatefulSet']);
  await here.createSource('ConfigMap', 'app', value(1));
  await here.create('StatefulSet', 'db', { annotations: AUTO, pod });
  await here.createUser('web', 'app');
  await untilObserved(here);
  const attune = await here.start([DEFAULT], { access: { ...here.stage.access, server: proxy.access.server } });
  return { ...here, attune };
}

const POLICIES = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies';
const BINDINGS = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings';

/** Attune may not write StatefulSets; everybody else may. */
async function forbid({ space, stage }: Scene): Promise<AsyncDisposable> {
  const name = `deny-${space}`;
  const user = `system:serviceaccount:${stage.home}:attune`;
  await api().create(POLICIES, {
    metadata: { name },
    spec: {
      matchConstraints: {
        namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': space } },
        resourceRules: [
          { apiGroups: ['apps'], apiVersions: ['v1'], operations: ['UPDATE'], resources: ['statefulsets'] },
        ],
      },
      validations: [{ expression: `request.userInfo.username != '${user}'`, message: 'not by you' }],
    },
  });
  await api().create(BINDINGS, {
    metadata: { name },
    spec: { policyName: name, validationActions: ['Deny'] },
  });
  const isDenied = () =>
    api(stage.access)
      .patch(`${pathOf('StatefulSet', space, 'db')}?dryRun=All`, { metadata: { labels: { probe: 'x' } } })
      .then(
        () => false,
        (error: { readonly status: number }) => error.status === 422,
      );
  await until(isDenied, { what: 'the policy in force' });
  return {
    async [Symbol.asyncDispose]() {
      await api().delete(`${BINDINGS}/${name}`);
      await api().delete(`${POLICIES}/${name}`);
    },
  };
}

test('whom a policy refuses is tried now and then, whatever its sources do, and without anybody touching it', async () => {
  await using here = await prepared();
  {
    await using _policy = await forbid(here);
    for (let n = 2; n <= 51; n += 1) {
      await here.setData('ConfigMap', 'app', value(n));
      await untilMarked(here.audit, 'Deployment', 'web', value(n));
    }
    await eventually(tries).toBeGreaterThan(1);
    expect(tries()).toBeLessThanOrEqual(8);
  }
  const marks = () => Object.values(marksOf('StatefulSet', here.audit.latest('StatefulSet', 'db')));
  await here.audit.until('the last change arrives', () => marks().includes(sha1(value(51))), NEXT_TRY_MS);
  expect(here.audit.templates('StatefulSet', 'db')).toHaveLength(2);
});

test.each([400, 403, 413, 422])(
  '%i: neither a source nor a scale ends the back-off; what may cure it does',
  async (code) => {
    await using here = await prepared();
    // So long that no try is one of the back-off's own.
    const fault = { type: 'status', code, retryAfterSeconds: 300 } as const;
    proxy.setRules([{ fault, verbs: ['patch'], path: /\/statefulsets\// }]);
    // A try is over when its answer was heard: what changes before that is decided on at once.
    const untilRefused = (times: number) =>
      until(
        async () => {
          const labels = { code: String(code), method: 'PATCH' };
          return ((await here.attune.metric('rest_client_requests_total', labels)) ?? 0) >= times;
        },
        { what: `${times} refusals` },
      );
    await here.setData('ConfigMap', 'app', value(2));
    await untilRefused(1);
    await here.setData('ConfigMap', 'app', value(3));
    const scale = { spec: { replicas: 0, minReadySeconds: 1 } };
    const { metadata } = await api().patch(pathOf('StatefulSet', here.space, 'db'), scale);
    await here.audit.until(
      'the scale',
      () => here.audit.latest('StatefulSet', 'db')?.metadata.generation === metadata.generation,
    );
    await untilObserved(here);
    await here.fence.pass();
    expect(tries()).toBe(1);
    await here.annotate('StatefulSet', 'db', { [RETRY]: 'now' });
    await untilRefused(2);
    expect(tries()).toBe(2);
    await here.annotate('StatefulSet', 'db', { 'somebody/else': 'wrote this' });
    await here.fence.pass();
    expect(tries()).toBe(2);
    proxy.setRules([]);
    await here.annotate('StatefulSet', 'db', { [RETRY]: 'again' });
    await untilMarked(here.audit, 'StatefulSet', 'db', value(3));
  },
);

test('after an outage its victims are tried at once', async () => {
  await using here = await prepared();
  const refuse = (retryAfterSeconds?: number) =>
    ({ type: 'status', code: 503, ...(retryAfterSeconds && { retryAfterSeconds }) }) as const;
  proxy.setRules([
    { fault: refuse(2), verbs: ['patch'], path: /\/statefulsets\//, times: 3 },
    { fault: refuse(300), verbs: ['patch'], path: /\/statefulsets\// },
    { fault: refuse() },
  ]);
  await here.setData('ConfigMap', 'app', value(2));
  // It backs off for seconds before the server asks it to wait for minutes.
  await expect.poll(tries, { timeout: 60_000 }).toBe(4);
  proxy.setRules([]);
  proxy.cutWatches();
  await untilMarked(here.audit, 'StatefulSet', 'db', value(2));
});
