import { expect, test } from 'vitest';
import { startController } from '../../support/controller.ts';
import { faultProxy } from '../../support/proxy.ts';
import { type AnyObject, api, controlPlane, namespace } from '../../support/sandbox.ts';
import { pathOf, type SourceName } from '../../support/workloads.ts';
import { podWith, untilMarked } from '../reloader/moves.ts';
import { revisionsOf, verdictOn } from './auditor.ts';
import { untilCounted, webWorld } from './web-world.ts';

const DEPLOYMENT = 'Deployment';
const WEB: SourceName = { kind: 'ConfigMap', name: 'web' };

type World = Awaited<ReturnType<typeof world>>;

async function world(strategy = 'env-vars') {
  const here = await webWorld({ flags: [`--reload-strategy=${strategy}`], kinds: ['ConfigMap'] });
  const { audit, moves } = here;
  return Object.assign(here, {
    set: (value: string) => moves.setData('ConfigMap', 'web', { value }),
    /** Sources that changed after the last pods were made. */
    missed: () =>
      verdictOn({ kind: DEPLOYMENT, name: 'web', sources: [WEB] }, revisionsOf(audit, DEPLOYMENT, 'web'), audit).missed,
    /** By versions: the watches of the audit have no order in common either. */
    untilRolledSince: ({ metadata: { resourceVersion } }: AnyObject) =>
      audit.until(
        'the data is rolled out',
        () => (revisionsOf(audit, DEPLOYMENT, 'web').at(-1) ?? 0) > Number(resourceVersion),
      ),
  });
}

const STRATEGIES = ['env-vars', 'annotations'] as const;

test.each(STRATEGIES)(
  '1. data that another hand brought, and then back to what our mark says: %s',
  async (strategy) => {
    await using w = await world(strategy);
    await w.start();
    await w.set('b');
    await untilMarked(w.audit, DEPLOYMENT, 'web', { value: 'b' });
    for (const image of ['v2', 'v3']) {
      await w.set('c');
      await w.setImage(image);
      await w.fence();
      await w.untilRolledSince(await w.set('b'));
      expect(w.missed()).toBe(0);
    }
  },
);

test('1. the same over a restart', async () => {
  await using w = await world();
  const first = await w.start();
  await w.set('b');
  await untilMarked(w.audit, DEPLOYMENT, 'web', { value: 'b' });
  await w.set('c');
  await w.setImage('v2');
  await w.fence();
  expect(await first.stop()).toBe(0);
  const changed = await w.set('b');
  await w.start();
  await w.untilRolledSince(changed);
});

test('2. two sources that share a variable, named by a pattern', async () => {
  await using w = await world();
  const names = ['app.cfg', 'app-cfg'];
  for (const name of names) await w.moves.createSource('ConfigMap', name, { value: 'a' });
  const annotations = { 'configmap.reloader.stakater.com/reload': 'app.*' };
  await w.moves.create(DEPLOYMENT, 'shared', { annotations, pod: podWith([{ name: 'app', image: 'app' }]) });
  await w.start();
  const rolls = () => w.audit.templates(DEPLOYMENT, 'shared').length - 1;
  let wanted = 0;
  for (const name of [...names, ...names]) {
    wanted += 1;
    await w.moves.setData('ConfigMap', name, { value: wanted > 2 ? 'c' : 'b' });
    await w.audit.until(`${wanted} rollouts`, () => rolls() === wanted);
  }
});

test.each(STRATEGIES)('3. while nobody was there: other data, a template, and the data back: %s', async (strategy) => {
  await using w = await world(strategy);
  const first = await w.start();
  await w.fence();
  await first.kill9();
  await w.set('b');
  await w.setImage('v2');
  const changed = await w.set('a');
  await w.start();
  await w.untilRolledSince(changed);
  await w.fence();
  expect(w.rolls()).toBe(2);
});

test('3. a scale and a label while nobody was there are no reason', async () => {
  await using w = await world();
  const first = await w.start();
  await w.set('b');
  // Whoever is stopped while pods are being replaced cannot know what they began with.
  await untilCounted(w.audit, [await untilMarked(w.audit, DEPLOYMENT, 'web', { value: 'b' })]);
  await w.fence();
  expect(await first.stop()).toBe(0);
  await api().patch(pathOf(DEPLOYMENT, w.shop, 'web'), { spec: { replicas: 1 } });
  await api().patch(pathOf('ConfigMap', w.shop, 'web'), { metadata: { labels: { only: 'metadata' } } });
  await w.start();
  await w.fence();
  await w.fence();
  expect(w.rolls()).toBe(1);
});

test('4. more sources than a record can hold are rolled for all the same, also over a restart', async () => {
  await using w = await world();
  const name = (n: number) => `${'long-'.repeat(38)}${n}`;
  const COUNT = 1400;
  for (let from = 0; from < COUNT; from += 100) {
    const some = Array.from({ length: 100 }, (_, n) => name(from + n));
    await Promise.all(some.map((each) => w.moves.createSource('Secret', each, { value: 'a' })));
  }
  const annotations = { 'secret.reloader.stakater.com/reload': 'long-.*' };
  await w.moves.create(DEPLOYMENT, 'many', { annotations, pod: podWith([{ name: 'app', image: 'app' }]) });
  const first = await w.start();
  await w.moves.setData('Secret', name(7), { value: 'b' });
  await untilMarked(w.audit, DEPLOYMENT, 'many', { value: 'b' });
  await w.fence();
  await first.kill9();
  await w.moves.setData('Secret', name(1399), { value: 'c' });
  await w.start();
  await untilMarked(w.audit, DEPLOYMENT, 'many', { value: 'c' });
  await w.fence();
  expect(w.audit.templates(DEPLOYMENT, 'many')).toHaveLength(3);
});

const TEN = Array.from({ length: 10 }, (_, n) => `web-${n}`);

/** Ten ConfigMaps and ten Deployments, and what changes both, one after the other. */
async function ten(w: World) {
  const created: AnyObject[] = [];
  for (const name of TEN) {
    await w.moves.createSource('ConfigMap', name, { value: 'a' });
    created.push(await w.moves.createUser(name, name));
  }
  await untilCounted(w.audit, created);
  return {
    async upgrade() {
      const upgraded: AnyObject[] = [];
      for (const name of TEN) {
        await w.moves.setData('ConfigMap', name, { value: 'b' });
        const body = { spec: { template: { spec: { containers: [{ name: 'app', image: 'v2' }] } } } };
        upgraded.push(await api().patch(pathOf(DEPLOYMENT, w.shop, name), body, 'strategic'));
      }
      await untilCounted(w.audit, upgraded);
    },
    rolls: () => TEN.map((name) => w.audit.templates(DEPLOYMENT, name).length - 1),
  };
}

test.each(STRATEGIES)(
  '6. source and template edited together while we restart: one rollout each: %s',
  async (strategy) => {
    await using w = await world(strategy);
    const { upgrade, rolls } = await ten(w);
    const first = await w.start();
    await w.fence();
    await first.kill9();
    await upgrade();
    await w.start();
    await w.fence();
    await w.fence();
    expect(rolls()).toEqual(TEN.map(() => 1));
  },
);

test('6. the same while our watches have lost their place: one rollout each', async () => {
  const [home, proxy] = await Promise.all([namespace('relist-home'), faultProxy()]);
  await using w = await world();
  const { upgrade, rolls } = await ten(w);
  await using controller = await startController({ home, access: proxy.access, flags: [`--namespaces=${w.shop}`] });
  await w.fence();
  proxy.setRules([
    { fault: { type: 'status', code: 503 }, verbs: ['list'] },
    { fault: { type: 'expired-watch' }, verbs: ['watch'] },
  ]);
  proxy.cutWatches();
  await upgrade();
  proxy.setRules([{ fault: { type: 'expired-watch' }, verbs: ['watch'], times: 2 }]);
  await w.fence();
  await w.fence();
  expect(rolls()).toEqual(TEN.map(() => 1));
  expect(controller.lines.join('\n')).not.toContain("updated 'web-");
});

test.each(STRATEGIES)('6. two installations of ours: one rollout for each change: %s', async (strategy) => {
  await using w = await world(strategy);
  const { rolls } = await ten(w);
  const other = await namespace('other-home');
  await w.start();
  const flags = [`--namespaces=${w.shop}`, `--reload-strategy=${strategy}`];
  await using _second = await startController({ home: other, access: controlPlane(), flags });
  for (const name of TEN) await w.moves.setData('ConfigMap', name, { value: 'b' });
  await w.audit.until('all are rolled', () => rolls().every((times) => times > 0));
  await w.fence();
  await w.fence();
  expect(rolls()).toEqual(TEN.map(() => 1));
});
