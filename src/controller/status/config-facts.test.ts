import { describe, expect, test } from 'vitest';
import { source } from '../../../test/support/engine-world.ts';
import {
  conditionOf,
  type StatusOptions,
  settledWorld,
  shownOf,
  statusWorld,
  WEB_SPEC,
} from '../../../test/support/status-world.ts';
import type { Source } from '../../domain/source/source.ts';

const MINUTE_MS = 60_000;

/** What is said of a config of which nothing is there, and of which the flags leave something out. */
async function degraded(options: StatusOptions, spec: object = WEB_SPEC) {
  const world = await statusWorld(options);
  world.engine.begin();
  world.apply(spec);
  await world.pass(200);
  await world.end();
  return conditionOf(world.status(), 'Degraded')?.message.split('; ') ?? [];
}

describe('what the controller does not watch is not called missing', () => {
  test.each([
    ['--namespaces-to-ignore=else', 'take else out of --namespaces-to-ignore'],
    ['--namespaces=shop', 'add else to --namespaces'],
    ['--namespace-selector=team=a', 'give namespace else labels that match team=a'],
  ])('another namespace: %s', async (flag, cure) => {
    const options = {
      flags: [flag, '--allow-reloads=else=shop'],
      inScope: (namespace: string) => namespace === 'shop',
    };
    const spec = { autoReloadAll: true, targets: [{ kind: 'Deployment', name: 'web', namespace: 'else' }] };
    const text = new RegExp(`^spec.targets\\[0\\]: Deployment "web" is not watched: .*\\(${cure}\\)$`);
    expect(await degraded(options, spec)).toEqual([expect.stringMatching(text)]);
  });

  test('a kind of source, a kind of workload', async () => {
    const targets = [
      { kind: 'Rollout', name: 'a' },
      { kind: 'CronJob', name: 'b' },
    ];
    const flags = ['--resources-to-ignore=configmaps', '--ignored-workload-types=cronjobs', '--is-Argo-Rollouts=false'];
    expect(await degraded({ flags }, { ...WEB_SPEC, targets })).toEqual([
      expect.stringContaining('Rollouts are not watched'),
      expect.stringContaining('--ignored-workload-types leaves out every CronJob'),
      expect.stringContaining('--resources-to-ignore=configmaps leaves out every ConfigMap'),
    ]);
  });

  test('a source that a selector may hide', async () => {
    expect(await degraded({ flags: ['--resource-label-selector=a=b'] })).toContain(
      'spec.watchedResources.configMaps: ConfigMap "app" is absent, or its labels do not match --resource-label-selector=a=b',
    );
  });

  test('a source in a namespace that allows it and is not selected', async () => {
    const world = await statusWorld({
      flags: ['--namespace-selector=team=a', '--allow-reloads=else=shop'],
      inScope: (namespace) => namespace === 'shop',
    });
    world.put(source('A', 5, { kind: 'ConfigMap', namespace: 'else', name: 'far' }));
    world.engine.begin();
    world.workload(10);
    world.configs.namespaceSeen('else', { labels: {}, allowsFrom: new Set() });
    world.apply({ ...WEB_SPEC, watchedResources: { configMaps: ['far', 'f.*'], namespaceSelector: {} } });
    await world.pass(200);
    expect(conditionOf(world.status(), 'Degraded')).toMatchObject({
      reason: 'NotWatched',
      message: expect.stringMatching(/ConfigMap "far" is not watched: .* labels of namespace else/),
    });
    expect(world.status()).toMatchObject({ watchedResourceCount: 0 });
    expect(world.status()).not.toHaveProperty('watchedResourceHashes');
    await world.end();
  });

  test('sources of namespaces that labels select, where these are not read', async () => {
    const flags = ['--namespaces=shop,edge', '--allow-reloads=edge=shop'];
    const watching = (namespaceSelector: object) => ({
      watchedResources: { resourceSelector: {}, namespaceSelector },
      targets: [],
    });
    const path = 'spec.watchedResources.namespaceSelector';
    const told = expect.stringMatching(`^${path}: the controller does not read labels of namespaces`);
    expect(await degraded({ flags }, watching({ matchLabels: { stage: 'live' } }))).toContainEqual(told);
    expect(await degraded({ flags }, watching({}))).not.toContainEqual(told);
  });

  test('a source that may not be listed', async () => {
    const texts = await degraded({ listed: { has: () => false } });
    expect(texts).toContain('spec.watchedResources.configMaps: ConfigMap "app" is not watched: Attune may not list it');
  });
});

test('what is ignored is not missing, and neither is what an expression might match', async () => {
  const watchedResources = { configMaps: ['app', 'not-.*'] };
  const ignoreResources = [{ kind: 'ConfigMap', name: 'app' }];
  expect(await degraded({}, { ...WEB_SPEC, watchedResources, ignoreResources })).toEqual([
    expect.stringContaining('Deployment "web" does not exist'),
  ]);
});

test('without consent nothing is said about the other namespace, with it everything', async () => {
  const targets = [
    { kind: 'Deployment', name: 'web' },
    { kind: 'Deployment', name: 'web', namespace: 'else' },
  ];
  const world = await settledWorld({}, { ...WEB_SPEC, targets });
  expect(conditionOf(world.status(), 'Degraded')).toMatchObject({ reason: 'NotAllowed' });
  expect(world.status().targetStatus?.[1]).toEqual({ kind: 'Deployment', namespace: 'else', name: 'web' });
  world.statuses.asksChanged(world.configs.namespaceSeen('else', { labels: {}, allowsFrom: new Set(['shop']) }));
  await world.pass(6000);
  expect(conditionOf(world.status(), 'Degraded')).toMatchObject({ reason: 'TargetNotFound' });
  await world.end();
});

describe('sources', () => {
  const other = (name: string, more: object = {}) => ({
    ...source('B', 6, { kind: 'Secret', namespace: 'shop', name }),
    ...more,
  });

  test.each([
    ['names', { watchedResources: { secrets: ['one'], configMaps: ['ap+'] } }, ['ConfigMap/app', 'Secret/one']],
    ['expressions', { watchedResources: { secrets: ['.n.'] } }, ['Secret/one']],
    ['labels', { watchedResources: { resourceSelector: { matchLabels: { a: 'b' } } } }, ['Secret/two']],
    ['all that targets use', { autoReloadAll: true }, ['ConfigMap/app']],
    ['names with labels', { watchedResources: { secrets: ['one', 'two'] }, matchLabels: { a: 'b' } }, ['Secret/two']],
  ])('%s', async (_, spec, expected) => {
    const world = await statusWorld();
    world.put(source('A', 5));
    world.put(other('one'));
    world.put(other('two', { labels: { a: 'b' } }));
    world.put(other('ignored', { ignored: true }));
    world.engine.begin();
    world.workload(10);
    world.apply({ ...WEB_SPEC, watchedResources: {}, ...spec });
    await world.pass(200);
    expect(Object.keys(world.status().watchedResourceHashes ?? {})).toEqual(expected.map((id) => `shop/${id}`));
    expect(world.status().watchedResourceCount).toBe(expected.length);
    await world.end();
  });

  test('only what a target references, where it has to', async () => {
    const targets = [{ kind: 'Deployment', name: 'web', requireReference: true }];
    const watchedResources = { configMaps: ['app', 'unused'], enableTargetedReload: true };
    const world = await settledWorld({}, { targets, watchedResources });
    world.put(source('B', 20, { kind: 'ConfigMap', namespace: 'shop', name: 'unused' }), true);
    await world.pass(6000);
    expect(world.status().watchedResourceHashes).toEqual(shownOf('A'));
    expect(conditionOf(world.status(), 'Degraded')).toMatchObject({ status: 'False' });
    await world.end();
  });

  describe('no target is there yet', () => {
    const listed = ({ fingerprint: _, ...rest }: Source): Source => ({ ...rest, fingerprint: undefined });

    test.each([
      ['a name', { watchedResources: { configMaps: ['ap+'] } }],
      ['an expression', { watchedResources: { configMaps: ['ap+'] } }],
      ['labels', { watchedResources: { resourceSelector: { matchLabels: { a: 'b' } } } }],
      [
        'a name, for what the target references',
        {
          watchedResources: { configMaps: ['ap+'], enableTargetedReload: true },
          targets: [{ kind: 'Deployment', name: 'web', requireReference: true }],
        },
      ],
    ])('a source is shown, and its changes: %s', async (_, spec) => {
      const world = await statusWorld();
      const app = { ...source('A', 5), labels: { a: 'b' } };
      world.put(app);
      world.engine.begin();
      world.apply({ ...WEB_SPEC, ...spec });
      await world.pass(200);
      expect(world.status()).toMatchObject({ watchedResourceHashes: shownOf('A'), watchedResourceCount: 1 });
      world.put({ ...source('B', 20), labels: { a: 'b' } });
      await world.pass(6000);
      expect(world.status().watchedResourceHashes).toEqual(shownOf('B'));
      world.remove(30);
      await world.pass(6000);
      expect(world.status()).not.toHaveProperty('watchedResourceHashes');
      world.put({ ...source('C', 40), labels: { a: 'b' } }, true);
      await world.pass(6000);
      expect(world.status().watchedResourceHashes).toEqual(shownOf('C'));
      await world.end();
    });

    test.each([
      ['that the config leaves out', { ignoreResources: [{ kind: 'ConfigMap', name: 'app' }] }, {}],
      ['without the labels that it must have', { matchLabels: { a: 'b' } }, {}],
      ['that is to be ignored', {}, { ignored: true }],
    ])('but none %s', async (_, spec, flags) => {
      const world = await statusWorld();
      world.put({ ...source('A', 5), ...flags });
      world.engine.begin();
      world.apply({ ...WEB_SPEC, ...spec });
      await world.pass(200);
      expect(world.status()).toMatchObject({ watchedResourceCount: 0 });
      await world.end();
    });

    test('nor any of a config that is ignored', async () => {
      const world = await statusWorld();
      world.put(source('A', 5));
      world.engine.begin();
      const annotations = { 'reloader.stakater.com/ignore': 'true' };
      world.apply(WEB_SPEC, 'main', {
        metadata: { name: 'main', namespace: 'shop', uid: 'u', resourceVersion: '101', annotations },
      });
      await world.pass(200);
      expect(conditionOf(world.status(), 'Available')).toMatchObject({ reason: 'Ignored' });
      expect(world.status()).toMatchObject({ watchedResourceCount: 0 });
      await world.end();
    });

    test('what was listed without its data is read, and a status that says it already is not written', async () => {
      const world = await statusWorld();
      world.put(listed(source('A', 5)));
      world.engine.begin();
      world.apply(WEB_SPEC);
      await world.pass(200);
      expect(world.status()).toMatchObject({ watchedResourceCount: 1 });
      expect(world.wanted).toEqual([source('A', 5).ref]);
      world.read(source('A', 5));
      await world.pass(6000);
      expect(world.status().watchedResourceHashes).toEqual(shownOf('A'));
      const { length } = world.writes();
      // As after a start: listed once more, and read a moment later.
      world.put(listed(source('A', 6)));
      await world.nextTerm();
      await world.pass(1000);
      world.read(source('A', 6));
      await world.pass(MINUTE_MS);
      expect(world.writes()).toHaveLength(length);
      await world.end();
    });

    test('of thousands only those are read that are listed', async () => {
      const world = await statusWorld();
      for (let at = 0; at < 1000; at += 1) {
        world.put(listed(source('A', 5 + at, { kind: 'Secret', namespace: 'shop', name: `s${1000 + at}` })));
      }
      world.engine.begin();
      world.apply({ ...WEB_SPEC, watchedResources: { resourceSelector: {} } });
      await world.pass(200);
      expect(world.wanted.map(({ name }) => name)).toEqual(Array.from({ length: 100 }, (_, at) => `s${1000 + at}`));
      await world.end();
    });
  });

  test('two that hold the same do not show it: nobody can tell by own Secrets what is in those of others', async () => {
    const world = await statusWorld();
    world.put(other('one'));
    world.put(other('two'));
    world.engine.begin();
    world.workload(10);
    world.apply({ ...WEB_SPEC, watchedResources: { secrets: ['one', 'two'] } });
    await world.pass(200);
    const { watchedResourceHashes = {} } = world.status();
    expect(watchedResourceHashes).toEqual({ ...shownOf('B', 'shop/Secret/one'), ...shownOf('B', 'shop/Secret/two') });
    expect(new Set(Object.values(watchedResourceHashes)).size).toBe(2);
    await world.end();
  });

  test('digests that may not be stored are not shown', async () => {
    const world = await settledWorld({ mayStore: () => false });
    expect(world.status()).not.toHaveProperty('watchedResourceHashes');
    expect(world.status().watchedResourceCount).toBe(1);
    await world.end();
  });
});

describe('targets', () => {
  test('strategies: the target before the spec before the flag', async () => {
    const flags = ['--reload-strategy=annotations', '--rollout-strategy=restart'];
    const of = async (spec: object) => {
      const world = await settledWorld({ flags }, { ...WEB_SPEC, ...spec });
      await world.end();
      const { reloadStrategy, rolloutStrategy } = world.status().targetStatus?.[0] ?? {};
      return `${reloadStrategy} ${rolloutStrategy}`;
    };
    const [target] = WEB_SPEC.targets;
    expect(await of({})).toBe('annotations restart');
    expect(await of({ reloadStrategy: 'env-vars' })).toBe('env-vars restart');
    expect(await of({ rolloutStrategy: 'restart', targets: [{ ...target, rolloutStrategy: 'rollout' }] })).toBe(
      'annotations rollout',
    );
  });

  test('a cooldown is told, and that it is over', async () => {
    const targets = [{ ...WEB_SPEC.targets[0], pausePeriod: '1m' }];
    const world = await settledWorld({}, { ...WEB_SPEC, targets });
    world.engine.states.get('Deployment/shop/web')?.reloads.reloaded(world.clock.wall() / 1000);
    world.statuses.workloadTouched('Deployment/shop/web');
    await world.pass(6000);
    expect(world.status().targetStatus?.[0]).toHaveProperty('pausedUntil');
    expect(conditionOf(world.status(), 'Progressing')).toMatchObject({ status: 'True', reason: 'CoolingDown' });
    await world.pass(61_000);
    expect(world.status().targetStatus?.[0]).not.toHaveProperty('pausedUntil');
    expect(conditionOf(world.status(), 'Progressing')).toMatchObject({ status: 'False' });
    await world.end();
  });

  test('a restart is told as far as it is', async () => {
    const world = await settledWorld({ restart: () => ({ pods: 5, left: 3 }) });
    expect(world.status().targetStatus).toMatchObject([{ restart: { pods: 5, left: 3 } }]);
    expect(conditionOf(world.status(), 'Progressing')).toMatchObject({ reason: 'Restarting' });
    await world.end();
  });
});
