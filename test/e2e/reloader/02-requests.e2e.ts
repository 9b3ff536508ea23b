import { beforeAll, describe, expect, test } from 'vitest';
import { LAST_RELOADED_FROM, ROLLOUT_STRATEGY } from '../../../src/api/annotations.ts';
import type { KindName } from '../../../src/api/kinds.ts';
import { stage } from '../../support/controller.ts';
import { installKinds } from '../../support/crds.ts';
import { until } from '../../support/wait.ts';
import { isObserved, podUsing, sha1 } from '../../support/workloads.ts';
import { AUTO, untilCalm, untilMarked } from './moves.ts';
import { type RecordedRequest, recorder } from './recorder.ts';
import { COMPAT, DEFAULT, MODES, type Scene, scene } from './scene.ts';

const V1 = { value: '1' };
const V2 = { value: '2' };
const VARIABLE = { name: 'STAKATER_APP_CONFIGMAP', value: sha1(V2) };
const pod = podUsing({ kind: 'ConfigMap', name: 'app' }, 'envFrom');
const CORE_KINDS: readonly KindName[] = ['Deployment', 'StatefulSet', 'DaemonSet'];

beforeAll(() => installKinds(['Rollout']));

const isWatch = ({ query }: RecordedRequest) => query.has('watch');
const writesTo = (requests: readonly RecordedRequest[], name: string) =>
  requests.filter(({ method, path }) => method !== 'GET' && path.endsWith(`/${name}`));

async function reloaded(
  flags: readonly string[],
  rest: AsyncDisposableStack,
): Promise<[Scene, readonly RecordedRequest[]]> {
  const here = rest.use(await scene(['StatefulSet', 'DaemonSet', 'Rollout', 'Event']));
  const between = rest.use(await recorder());
  await here.createSource('ConfigMap', 'app', V1);
  for (const kind of CORE_KINDS) await here.create(kind, kind.toLowerCase(), { annotations: AUTO, pod });
  await here.create('Rollout', 'rollout', { annotations: AUTO, pod });
  await here.create('Rollout', 'restarted', { annotations: { ...AUTO, [ROLLOUT_STRATEGY]: 'restart' }, pod });
  // Their controllers write the status of what is new: a PATCH meanwhile would be one of two.
  for (const kind of ['StatefulSet', 'DaemonSet'] as const) {
    const seen = () => here.audit.latest(kind, kind.toLowerCase());
    await here.audit.until(`the ${kind} observed`, () => isObserved(seen()));
  }
  const access = { ...here.stage.access, server: between.server };
  await here.start([...flags, '--is-Argo-Rollouts=true'], { access });
  // The first reload of all may still read; what follows is the steady state.
  await here.fence.pass(1);
  await untilCalm(here.audit, here);
  const told = () => here.audit.all('Event').filter(({ reason }) => reason === 'Reloaded').length;
  await here.audit.until('the Events so far', () => told() >= 3);
  between.forget();
  await here.setData('ConfigMap', 'app', V2);
  for (const kind of CORE_KINDS) await untilMarked(here.audit, kind, kind.toLowerCase(), V2);
  await untilMarked(here.audit, 'Rollout', 'rollout', V2);
  await here.audit.until('the restart', () => here.audit.latest('Rollout', 'restarted')?.['spec'].restartAt);
  await here.audit.until('all Events', () => told() >= 8);
  return [here, between.requests];
}

/** Upstream goes by positions alone, and may hit a variable of somebody else. */
function expectGuarded(operations: readonly { op: string; path: string; value?: unknown }[], container: string): void {
  expect(operations[0]).toMatchObject({ op: 'replace', path: '/metadata/resourceVersion' });
  const tests = operations.filter(({ op }) => op === 'test').map(({ value }) => value);
  expect(tests).toContain(container);
}

describe.each(MODES)('2. %s', (mode) => {
  test('env-vars: one PATCH per workload, of the right type, with the field manager and no more than the mark', async () => {
    await using rest = new AsyncDisposableStack();
    const [, requests] = await reloaded([mode], rest);
    for (const kind of CORE_KINDS) {
      const [patch, ...more] = writesTo(requests, kind.toLowerCase());
      expect(more).toEqual([]);
      expect(patch).toMatchObject({ method: 'PATCH', contentType: 'application/strategic-merge-patch+json' });
      expect(patch?.query.get('fieldManager')).toBe('Reloader');
      const { spec, metadata, ...others } = JSON.parse(patch?.body ?? '{}');
      expect(others).toEqual({});
      expect(spec).toEqual({ template: { spec: { containers: [{ name: 'app', env: [VARIABLE] }] } } });
      // The fence, and the record where we keep one.
      expect(metadata.resourceVersion).toMatch(/^\d+$/);
      expect(Object.keys(metadata.annotations ?? {})).toEqual(mode === COMPAT ? [] : ['attune.dev/record']);
    }
    const [patch] = writesTo(requests, 'rollout');
    expect(patch).toMatchObject({ method: 'PATCH', contentType: 'application/json-patch+json' });
    expectGuarded(JSON.parse(patch?.body ?? '[]'), 'app');
    const [restart] = writesTo(requests, 'restarted');
    expect(restart).toMatchObject({ method: 'PATCH', contentType: 'application/merge-patch+json' });
    expect(Object.keys(JSON.parse(restart?.body ?? '{}').spec)).toEqual(['restartAt']);
    for (const request of [patch, restart]) expect(request?.query.get('fieldManager')).toBe('Reloader');
  });

  test('annotations: the same with the annotation of the pod template', async () => {
    await using rest = new AsyncDisposableStack();
    const [here, requests] = await reloaded([mode, '--reload-strategy=annotations'], rest);
    const [patch, ...more] = writesTo(requests, 'deployment');
    expect(more).toEqual([]);
    const { spec } = JSON.parse(patch?.body ?? '{}');
    const text = spec.template.metadata.annotations[LAST_RELOADED_FROM];
    expect(spec).toEqual({ template: { metadata: { annotations: { [LAST_RELOADED_FROM]: text } } } });
    expect(JSON.parse(text)).toMatchObject({ namespace: here.space, hash: sha1(V2), containerRefs: ['app'] });
  });

  test('in the steady state a change costs one PATCH and one Event per workload, no LIST and no GET', async () => {
    await using rest = new AsyncDisposableStack();
    const [, requests] = await reloaded([mode], rest);
    const reads = requests.filter((each) => each.method === 'GET' && !isWatch(each));
    expect(reads.map(({ path }) => path)).toEqual([]);
    expect(requests.filter(({ method }) => method === 'PATCH')).toHaveLength(5);
    const events = requests.filter(({ method, path }) => method === 'POST' && path.endsWith('/events'));
    expect(events).toHaveLength(5);
  });
});

test('2. removing a variable is a JSON Patch under compat, and by name otherwise', async () => {
  for (const mode of [DEFAULT, COMPAT]) {
    await using here = await scene();
    await using between = await recorder();
    await here.createSource('ConfigMap', 'app', V1);
    await here.create('Deployment', 'web', { annotations: AUTO, pod });
    await here.start([mode, '--reload-on-delete=true'], { access: { ...here.stage.access, server: between.server } });
    await here.setData('ConfigMap', 'app', V2);
    await untilMarked(here.audit, 'Deployment', 'web', V2);
    between.forget();
    await here.deleteSource('ConfigMap', 'app');
    await here.audit.until('the second rollout', () => here.audit.templates('Deployment', 'web').length === 3);
    const [patch] = writesTo(between.requests, 'web');
    const body = JSON.parse(patch?.body ?? '{}');
    if (mode === COMPAT) {
      expect(patch?.contentType).toBe('application/json-patch+json');
      expectGuarded(body, 'app');
      expect(body.at(-1)).toMatchObject({ op: 'remove' });
    } else {
      const gone = { name: 'STAKATER_APP_CONFIGMAP', $patch: 'delete' };
      expect(body.spec.template.spec.containers).toEqual([{ name: 'app', env: [gone] }]);
    }
  }
});

test('2. what is not wanted is not asked for: ignored namespaces, releases of Helm', async () => {
  await using here = await stage({ global: true, spaces: 2 });
  await using between = await recorder();
  const [, ignored = ''] = here.spaces;
  // Webhook mode watches the sources and touches nothing of what other tests have in the cluster.
  const flags = [`--namespaces-to-ignore=${ignored}`, '--webhook-url=http://127.0.0.1:9'];
  await using _attune = await here.start(flags, { access: { ...here.access, server: between.server } });
  // A listing of one only asks for the server's version.
  const reads = (plural: string) =>
    between.requests.filter(({ path, query }) => path === `/api/v1/${plural}` && query.get('limit') !== '1');
  for (const plural of ['configmaps', 'secrets']) {
    await until(() => reads(plural).some(isWatch), { what: `a watch of ${plural}` });
    const selectors = new Set(reads(plural).map(({ query }) => query.get('fieldSelector')));
    const releases = plural === 'secrets' ? ',type!=helm.sh/release.v1' : '';
    expect([...selectors]).toEqual([`metadata.namespace!=${ignored}${releases}`]);
  }
});
