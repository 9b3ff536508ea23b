import { expect, test } from 'vitest';
import { Audit } from '../../support/audit.ts';
import { RULES, stage } from '../../support/controller.ts';
import { faultProxy } from '../../support/proxy.ts';
import { api } from '../../support/sandbox.ts';
import { until } from '../../support/wait.ts';
import { pathOf } from '../../support/workloads.ts';
import { AUTO, Fence, movesIn, untilMarked } from './moves.ts';
import { MODES, scene } from './scene.ts';

const proxy = await faultProxy();

const V1 = { value: '1' };
const V2 = { value: '2' };
const V3 = { value: '3' };

/** Rules without the verbs that write. */
const mayRead = RULES.flatMap((rule) => {
  const { verbs = [] } = rule as { readonly verbs?: readonly string[] };
  const reading = verbs.filter((verb) => ['get', 'list', 'watch'].includes(verb));
  return reading.length > 0 ? [{ ...rule, verbs: reading }] : [];
});

/**
 * Who sees the whole cluster writes to the test's own namespaces alone: no flag renames SAP's lists, and ReloaderConfigs have no
 * annotations, so that it would roll what other tests have at the same time.
 */
async function grantHere(home: string, space: string): Promise<void> {
  const path = `/apis/rbac.authorization.k8s.io/v1/namespaces/${space}`;
  await api().create(`${path}/roles`, { metadata: { name: 'own' }, rules: RULES });
  await api().create(`${path}/rolebindings`, {
    metadata: { name: 'own' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'own' },
    subjects: [{ kind: 'ServiceAccount', name: 'attune', namespace: home }],
  });
}

/** Several namespaces with the same workload in each. */
async function spaces(
  count: number,
  options: { readonly global: boolean; readonly annotations?: Record<string, string> },
) {
  await using building = new AsyncDisposableStack();
  const { global } = options;
  const here = building.use(await stage({ spaces: count, global, ...(global && { rules: mayRead }) }));
  if (global) await Promise.all(here.spaces.map((space) => grantHere(here.home, space)));
  const annotations = options.annotations ?? AUTO;
  const places = await Promise.all(
    here.spaces.map(async (space) => {
      const audit = building.use(await Audit.of(space, ['Deployment']));
      const moves = movesIn(space);
      const fence = await Fence.in(space, audit, annotations);
      await moves.createSource('ConfigMap', 'app', V1);
      await moves.createUser('web', 'app', { annotations });
      const rollouts = () => audit.templates('Deployment', 'web').length - 1;
      return { space, fence, rollouts, change: (data: typeof V1) => moves.setData('ConfigMap', 'app', data), audit };
    }),
  );
  const rest = building.move();
  return {
    here,
    places,
    start: async (...args: Parameters<typeof here.start>) => rest.use(await here.start(...args)),
    [Symbol.asyncDispose]: () => rest.disposeAsync(),
  };
}
type Place = Awaited<ReturnType<typeof spaces>>['places'][number];

const at = (places: readonly Place[], index: number): Place => {
  const place = places[index];
  if (!place) throw new Error(`no space ${index}`);
  return place;
};
const rolled = ({ audit }: Place, data: typeof V1) => untilMarked(audit, 'Deployment', 'web', data);

/** Keys of the test's own: a controller of the whole cluster must not answer to what other tests ask. */
function ownKeys(id: string) {
  const flags = ['auto', 'configmap', 'secret', 'configmap-auto', 'secret-auto', 'auto-search', 'search-match']
    .map((word) => `--${word}-annotation=${id}.test/${word}`)
    .concat(`--pause-deployment-annotation=${id}.test/p`, `--pause-deployment-time-annotation=${id}.test/t`);
  return { flags, annotations: { [`${id}.test/auto`]: 'true' } };
}

test.each(MODES)('10. global, but for the ignored: %s', async (mode) => {
  const keys = ownKeys('global');
  await using world = await spaces(3, { global: true, annotations: keys.annotations });
  const [seen, ignored, also] = [at(world.places, 0), at(world.places, 1), at(world.places, 2)];
  const attune = await world.start([mode, ...keys.flags, `--namespaces-to-ignore=${ignored.space},nowhere`]);
  for (const place of world.places) await place.change(V2);
  await Promise.all([rolled(seen, V2), rolled(also, V2)]);
  await seen.fence.pass();
  expect(ignored.rollouts()).toBe(0);
  const words = `will detect changes in all namespaces except: ${ignored.space}, nowhere.`;
  expect(attune.lines.some((line) => line.includes(words))).toBe(true);
});

test.each(MODES)('10. a selector, with labels that come and go: %s', async (mode) => {
  await using world = await spaces(2, { global: true });
  const [always, sometimes] = [at(world.places, 0), at(world.places, 1)];
  const key = `team-${always.space}`;
  const label = ({ space }: Place, value: string | null) =>
    api().patch(`/api/v1/namespaces/${space}`, { metadata: { labels: { [key]: value } } });
  await label(always, 'a');
  const attune = await world.start([mode, `--namespace-selector=${key} in (a)`]);
  await sometimes.change(V2);
  await always.fence.pass();
  expect(sometimes.rollouts()).toBe(0);

  await label(sometimes, 'a');
  // Being selected is no change; what changes from now on is.
  await sometimes.fence.pass();
  expect(sometimes.rollouts()).toBe(0);
  await sometimes.change(V3);
  await rolled(sometimes, V3);

  await label(sometimes, 'b');
  // A fence would not do: the watch of namespaces may be slower than those of sources.
  const left = { event_type: 'delete', resource_type: 'namespaces' };
  const hasLeft = async () => ((await attune.metric('reloader_events_received_total', left)) ?? 0) > 0;
  await until(hasLeft, { what: 'the label being gone' });
  await sometimes.change(V1);
  await always.fence.pass();
  expect(sometimes.rollouts()).toBe(1);
  expect(attune.lines.some((line) => line.includes(key))).toBe(true);
});

test.each(MODES)(
  '10. selected first and changed afterwards rolls, even if the label is heard of last: %s',
  async (mode) => {
    await using world = await spaces(1, { global: true });
    const place = at(world.places, 0);
    const key = `team-${place.space}`;
    const attune = await world.start([mode, `--namespace-selector=${key}`], {
      access: { ...world.here.access, server: proxy.access.server },
    });
    const seen = async () =>
      (await attune.metric('reloader_events_received_total', { resource_type: 'configmaps', event_type: 'update' })) ??
      0;
    proxy.setRules([{ fault: { type: 'status', code: 503 }, verbs: ['list', 'watch'], path: /\/v1\/namespaces\?/ }]);
    proxy.cutWatches();
    const before = await seen();
    await api().patch(`/api/v1/namespaces/${place.space}`, { metadata: { labels: { [key]: 'yes' } } });
    await place.change(V2);
    await until(async () => (await seen()) > before, { what: 'the change being seen' });
    proxy.setRules([]);
    await rolled(place, V2);
    await place.fence.pass();
    expect(place.rollouts()).toBe(1);
  },
);

test.each(MODES)('10. one namespace, by KUBERNETES_NAMESPACE: %s', async (mode) => {
  await using world = await spaces(2, { global: true });
  const [one, other] = [at(world.places, 0), at(world.places, 1)];
  await world.start([mode], { env: { KUBERNETES_NAMESPACE: one.space } });
  for (const place of world.places) await place.change(V2);
  await rolled(one, V2);
  await one.fence.pass();
  expect(other.rollouts()).toBe(0);
});

test.each(MODES)(
  '10. several namespaces with nothing but Roles there, the flag beats the variable: %s',
  async (mode) => {
    await using world = await spaces(3, { global: false });
    const [first, second, third] = [at(world.places, 0), at(world.places, 1), at(world.places, 2)];
    const scoped = await world.start([mode, '--reload-on-create=true'], {
      scope: [first.space, second.space],
      env: { KUBERNETES_NAMESPACE: third.space },
    });
    for (const place of world.places) await place.change(V2);
    await Promise.all([rolled(first, V2), rolled(second, V2)]);
    await Promise.all([first.fence.pass(), second.fence.pass()]);
    expect(third.rollouts()).toBe(0);
    // What was there at the start of one namespace is not "created" for it.
    expect([first.rollouts(), second.rollouts()]).toEqual([1, 1]);
    const words = `Watching scoped namespaces: ${first.space}, ${second.space}`;
    expect(scoped.lines.some((line) => line.includes(words))).toBe(true);
  },
);

test.each(MODES)('10. a namespace without rights does not stop the others, and is named once: %s', async (mode) => {
  await using world = await spaces(1, { global: false });
  const [open] = [at(world.places, 0)];
  await using closed = await stage();
  const attune = await world.start([`--namespaces=${closed.space}`, mode]);
  await open.change(V2);
  await rolled(open, V2);
  await open.fence.pass();
  const said = attune.lines.filter((line) => line.includes('list configmaps') && line.includes(closed.space));
  expect(said).toHaveLength(1);
  expect(said[0]).toContain('grant list and watch on configmaps');
});

test.each(MODES)('10. resource selector: who carries the label counts, from then on: %s', async (mode) => {
  await using here = await scene();
  const label = (kind: 'ConfigMap' | 'Secret', name: string, value: string | null) =>
    api().patch(pathOf(kind, here.space, name), { metadata: { labels: { reload: value } } });
  await label('ConfigMap', 'fence-configmap', 'yes');
  await label('Secret', 'fence-secret', 'yes');
  await here.createSource('ConfigMap', 'app', V1);
  await here.createUser('web', 'app');
  await here.start([mode, '--resource-label-selector=reload:yes']);
  const rollouts = () => here.audit.templates('Deployment', 'web').length - 1;
  await here.setData('ConfigMap', 'app', V2);
  await here.fence.pass();
  expect(rollouts()).toBe(0);
  await label('ConfigMap', 'app', 'yes');
  await here.fence.pass();
  expect(rollouts()).toBe(0);
  await here.setData('ConfigMap', 'app', V3);
  await untilMarked(here.audit, 'Deployment', 'web', V3);
  await label('ConfigMap', 'app', null);
  await here.setData('ConfigMap', 'app', V1);
  await here.fence.pass();
  expect(rollouts()).toBe(1);
});
