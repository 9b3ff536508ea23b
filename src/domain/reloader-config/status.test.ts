import { describe, expect, test } from 'vitest';
import { DEFAULT_KEYS } from '../../api/annotations.ts';
import type { KubeObject } from '../../api/objects.ts';
import type { ConfigCondition } from '../../api/reloader-config/status-fields.ts';
import type { ReloaderConfig } from './config.ts';
import { parseReloaderConfig } from './parse-config.ts';
import { statusOf } from './status.ts';
import type { PresentTarget, StatusFacts, TargetFacts } from './status-facts.ts';

const NOW = Date.UTC(2026, 0, 1, 12);
const NO_RELOADS = { count: 0, lastTime: undefined };
const WEB = { kind: 'Deployment', name: 'web' };

function configOf(spec: object, annotations: Record<string, string> = {}): ReloaderConfig {
  const metadata = { namespace: 'shop', name: 'app', uid: 'u', resourceVersion: '7', generation: 3, annotations };
  return parseReloaderConfig({ metadata, spec } as KubeObject, DEFAULT_KEYS.ignore);
}

const config = (targets: readonly object[] = [WEB], watchedResources: object = { configMaps: ['app'] }) =>
  configOf({ watchedResources, targets });

const PRESENT: PresentTarget = {
  error: undefined,
  isWaiting: false,
  cooldownEnd: undefined,
  restart: undefined,
  reloadStrategy: 'env-vars',
  rolloutStrategy: 'rollout',
  decidedBy: undefined,
};

type Found = TargetFacts extends infer Each
  ? Each extends TargetFacts
    ? Omit<Each, 'target' | 'reloads'>
    : never
  : never;

/** Every target is there, unless said otherwise. */
function factsOf(of: ReloaderConfig, facts: Partial<StatusFacts> = {}, found: readonly Found[] = []): StatusFacts {
  const targets = of.targets.map((target, index) => {
    const there = found[index] ?? { is: 'present', ...PRESENT };
    return { target, reloads: NO_RELOADS, ...there } as TargetFacts;
  });
  const nothing = { missing: [], sources: [], reloads: NO_RELOADS, conditions: [] };
  return { config: of, targets, ...nothing, readsNamespaces: true, now: NOW, ...facts };
}

const conditionsOf = (facts: StatusFacts) =>
  Object.fromEntries((statusOf(facts).conditions ?? []).map(({ type, ...rest }) => [type, rest])) as Partial<
    Record<'Available' | 'Progressing' | 'Degraded', Omit<ConfigCondition, 'type'>>
  >;

describe('conditions', () => {
  test('of a config that works', () => {
    const source = { ref: { kind: 'ConfigMap', namespace: 'shop', name: 'app' }, hash: () => 'h' } as const;
    const about = { observedGeneration: 3, lastTransitionTime: '2026-01-01T12:00:00Z', reason: 'Reconciled' };
    expect(conditionsOf(factsOf(config(), { sources: [source] }))).toEqual({
      Available: { ...about, status: 'True', message: '1 source watched for 1 target' },
      Progressing: { ...about, status: 'False', message: 'nothing waits' },
      Degraded: { ...about, status: 'False', message: 'no problems' },
    });
  });

  test('the time of a condition moves with its status, and with nothing else', () => {
    const then = '2025-01-01T00:00:00Z';
    const conditions = ['Available', 'Progressing', 'Degraded'].map((type) => ({
      ...{ type, status: 'True', reason: 'Old', message: 'old', lastTransitionTime: then },
    }));
    const { Available, Degraded } = conditionsOf(factsOf(config(), { conditions }));
    expect(Available).toMatchObject({ lastTransitionTime: then, reason: 'Reconciled' });
    expect(Degraded?.lastTransitionTime).toBe('2026-01-01T12:00:00Z');
  });

  test.each([
    ['no target', configOf({ watchedResources: { configMaps: ['app'] } }), 'there is no valid target'],
    ['no valid target', config([{ kind: 'Pod', name: 'web' }]), 'there is no valid target'],
    ['no source', configOf({ targets: [WEB] }), 'there is no valid source'],
    ['no valid source', config([WEB], { configMaps: ['('] }), 'there is no valid source'],
  ])('where nothing can work it is not available: %s', (_, of, message) => {
    const { Available, Degraded } = conditionsOf(factsOf(of));
    expect(Available).toMatchObject({ status: 'False', reason: 'InvalidSpec', message });
    expect(Degraded).toMatchObject({ status: 'True', reason: 'InvalidSpec' });
  });

  test.each([
    configOf({ autoReloadAll: true, targets: [WEB] }),
    config([WEB], { resourceSelector: {} }),
    config([WEB, { kind: 'Pod', name: 'web' }]),
  ])('where something can it is', (of) => {
    expect(conditionsOf(factsOf(of, {}, [{ is: 'absent' }])).Available).toMatchObject({ status: 'True' });
  });

  test('one that is ignored has no problems', () => {
    const of = configOf({ targets: [{ kind: 'Pod', name: '' }] }, { [DEFAULT_KEYS.ignore]: 'true' });
    const { Available, Degraded } = conditionsOf(factsOf(of));
    expect(Available).toMatchObject({ status: 'True', reason: 'Ignored' });
    expect(Degraded).toMatchObject({ status: 'False' });
  });

  test('progress: what is under way comes before what waits', () => {
    const of = config([WEB, { kind: 'Deployment', name: 'b' }, { kind: 'Deployment', name: 'c' }]);
    const waiting: Found = { is: 'present', ...PRESENT, isWaiting: true };
    const cooling: Found = { ...waiting, cooldownEnd: NOW + 90_000 };
    const restarting: Found = { ...waiting, restart: { pods: 5, left: 2, message: 'web-1 is not ready' } };
    const progress = (...found: readonly Found[]) => conditionsOf(factsOf(of, {}, found)).Progressing;
    expect(progress(waiting)).toMatchObject({
      ...{ status: 'True', reason: 'ReloadPending' },
      message: 'spec.targets[0]: Deployment "web" has changes that wait',
    });
    expect(progress(waiting, cooling)).toMatchObject({
      reason: 'CoolingDown',
      message: expect.stringMatching(/; spec.targets\[1\]: Deployment "b" has .* until 2026-01-01T12:01:30Z$/),
    });
    expect(progress(cooling, waiting, restarting)).toMatchObject({
      reason: 'Restarting',
      message: expect.stringMatching(/"c" is restarted, 2 of 5 pods left: web-1 is not ready$/),
    });
  });
});

describe('problems', () => {
  const degraded = (facts: StatusFacts) => conditionsOf(facts).Degraded;

  test('all of them, with their fields, the most serious as the reason', () => {
    const of = config([WEB, { kind: 'CronJob', name: 'b', namespace: 'else' }, { kind: 'Rollout', name: 'c' }, {}]);
    const missing: StatusFacts['missing'] = [
      { ref: { kind: 'ConfigMap', name: 'app' }, namespaces: ['shop'] },
      { ref: { kind: 'Secret', name: 'key' }, namespaces: ['shop', 'else'] },
      { ref: { kind: 'Secret', name: 'out' }, namespaces: ['shop'], unwatched: 'is left out by a flag' },
    ];
    const found: readonly Found[] = [
      { is: 'present', ...PRESENT, error: 'the quota is used up' },
      { is: 'not-allowed' },
      { is: 'unwatched', why: '--is-Argo-Rollouts is not set' },
    ];
    const { reason, message } = degraded(factsOf(of, { missing }, found)) ?? {};
    expect(reason).toBe('ReloadFailed');
    expect(message?.split('; ')).toEqual([
      'spec.targets[0]: Deployment "web": the quota is used up',
      expect.stringMatching(/^spec.targets\[3\].kind: must be one of/),
      expect.stringMatching(/^spec.targets\[3\].name: must be/),
      'spec.targets[1].namespace: namespace "else" does not allow reloads from "shop": ' +
        'annotate it with attune.dev/allow-reloads-from: "shop", or set --allow-reloads else=shop',
      'spec.watchedResources.configMaps: ConfigMap "app" does not exist in namespace "shop"',
      'spec.watchedResources.secrets: Secret "key" does not exist in any of the namespaces shop, else',
      'spec.targets[2]: Rollout "c" is not watched: --is-Argo-Rollouts is not set',
      'spec.watchedResources.secrets: Secret "out" is left out by a flag',
    ]);
  });

  test('consent, where the annotation is not read', () => {
    const of = config([{ ...WEB, namespace: 'else' }]);
    expect(degraded(factsOf(of, { readsNamespaces: false }, [{ is: 'not-allowed' }]))?.message).toBe(
      'spec.targets[0].namespace: namespace "else" does not allow reloads from "shop": set --allow-reloads else=shop',
    );
  });

  test('labels of namespaces, where these are not read', () => {
    const selecting = (key: string) =>
      config([WEB], { configMaps: ['app'], namespaceSelector: { matchLabels: { [key]: 'a' } } });
    const byLabel = selecting('stage');
    expect(degraded(factsOf(byLabel))).toMatchObject({ status: 'False' });
    expect(degraded(factsOf(byLabel, { readsNamespaces: false }))).toMatchObject({
      ...{ status: 'True', reason: 'NotWatched' },
      message:
        'spec.watchedResources.namespaceSelector: the controller does not read labels of namespaces, as it watches ' +
        'only some: select them by kubernetes.io/metadata.name, their name',
    });
    const byName = selecting('kubernetes.io/metadata.name');
    expect(degraded(factsOf(byName, { readsNamespaces: false }))).toMatchObject({ status: 'False' });
  });

  test('what is absent, by its reason', () => {
    expect(degraded(factsOf(config(), {}, [{ is: 'absent' }]))).toMatchObject({
      ...{ status: 'True', reason: 'TargetNotFound' },
      message: 'spec.targets[0]: Deployment "web" does not exist in namespace "shop"',
    });
  });

  test('too many to be told are counted', () => {
    const targets = Array.from({ length: 1000 }, (_, index) => ({ kind: 'Deployment', name: `web-${index}` }));
    const found = targets.map((): Found => ({ is: 'absent' }));
    const message = degraded(factsOf(config(targets), {}, found))?.message ?? '';
    expect(message.length).toBeLessThan(2100);
    const told = message.split('; ').length - 1;
    expect(message).toMatch(new RegExp(`; and ${1000 - told} more$`));
  });
});

describe('targets and sources', () => {
  test('all that is known of a target', () => {
    const reloads = { count: 2, lastTime: '2026-01-01T11:00:00Z' };
    const facts: Found = {
      ...{ is: 'present', ...PRESENT, error: 'x'.repeat(600), cooldownEnd: NOW },
      ...{ restart: { pods: 3, left: 1 }, decidedBy: { namespace: 'shop', name: 'older' } },
    };
    const { targetStatus } = statusOf({
      ...factsOf(config()),
      targets: [{ ...facts, target: config().targets[0], reloads } as TargetFacts],
    });
    expect(targetStatus).toEqual([
      {
        ...{ kind: 'Deployment', namespace: 'shop', name: 'web' },
        ...{ reloadCount: 2, lastReloadTime: '2026-01-01T11:00:00Z', pausedUntil: '2026-01-01T12:00:00Z' },
        ...{ reloadStrategy: 'env-vars', rolloutStrategy: 'rollout', decidedBy: 'ReloaderConfig shop/older' },
        ...{ lastError: 'x'.repeat(500), restart: { pods: 3, left: 1 } },
      },
    ]);
  });

  test('nothing is told of a namespace that does not allow it', () => {
    const { targetStatus } = statusOf(factsOf(config(), {}, [{ is: 'not-allowed' }]));
    expect(targetStatus).toEqual([{ kind: 'Deployment', namespace: 'shop', name: 'web' }]);
  });

  test.each([
    ['shop', 'ReloaderConfig shop/older'],
    ['edge', 'ReloaderConfig edge/older'],
    ['bank', 'a ReloaderConfig of another namespace'],
  ])('whose strategies count is said to those whom it concerns: %s', (namespace, decidedBy) => {
    const found: Found = { is: 'present', ...PRESENT, decidedBy: { namespace, name: 'older' } };
    const { targetStatus } = statusOf(factsOf(config([{ ...WEB, namespace: 'edge' }]), {}, [found]));
    expect(targetStatus).toMatchObject([{ decidedBy }]);
  });

  test('a hundred of each are listed, and all are counted', () => {
    const targets = Array.from({ length: 101 }, (_, index) => ({ kind: 'Deployment', name: `web-${index}` }));
    const sources = targets.map(({ name }) => ({
      ref: { kind: 'Secret', namespace: 'shop', name } as const,
      hash: () => `h-${name}`,
    }));
    const unread = { ref: { kind: 'Secret', namespace: 'shop', name: 'unread' } as const, hash: undefined };
    const status = statusOf(factsOf(config(targets), { sources: [unread, ...sources] }));
    expect(status).toMatchObject({ targetCount: 101, watchedResourceCount: 102 });
    expect(status.targetStatus).toHaveLength(100);
    expect(Object.keys(status.watchedResourceHashes ?? {})).toHaveLength(100);
    expect(status.watchedResourceHashes).toMatchObject({ 'shop/Secret/web-0': 'h-web-0' });
  });

  test('the same facts in another order give the same text', () => {
    const sources = ['b', 'a'].map((name) => ({
      ref: { kind: 'Secret', namespace: 's', name } as const,
      hash: () => name,
    }));
    const [one, other] = [sources, sources.toReversed()].map((each) => statusOf(factsOf(config(), { sources: each })));
    expect(JSON.stringify(one)).toBe(JSON.stringify(other));
  });
});
