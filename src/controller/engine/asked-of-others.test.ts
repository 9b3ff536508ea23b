import { describe, expect, test } from 'vitest';
import { policyOf } from '../../../test/conformance/given.ts';
import { APP, DEPLOYMENT, setUp, source, web } from '../../../test/support/engine-world.ts';
import { settings } from '../../../test/support/settings.ts';
import { DEFAULT_KEYS } from '../../api/annotations.ts';
import { kindNamed, type WorkloadKind } from '../../api/kinds.ts';
import { actionFor } from '../../domain/judge/effect.ts';
import { parseReloaderConfig } from '../../domain/reloader-config/parse-config.ts';
import { parseWorkload } from '../../domain/workload/parse-workload.ts';
import { ReloaderConfigs } from '../../model/reloader-configs/reloader-configs.ts';
import { createDigest } from '../../runtime/digest.ts';

const { text: digest } = createDigest(new Uint8Array(32));
const ROLLOUT = kindNamed('Rollout') as WorkloadKind;

const config = (version: number, namespace: string, spec: object) =>
  parseReloaderConfig(
    {
      metadata: {
        ...{ name: 'main', namespace, uid: 'c', generation: version },
        ...{ resourceVersion: String(version), creationTimestamp: '2026-01-01T11:00:00Z' },
      },
      spec: { watchedResources: { configMaps: ['app'] }, ...spec },
    } as never,
    'ignore',
  );

/** A Rollout without a template of its own. */
const borrower = (version: number) =>
  parseWorkload(
    ROLLOUT,
    {
      metadata: { name: 'r', namespace: 'shop', uid: 'r', resourceVersion: String(version) },
      spec: { workloadRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' } },
    } as never,
    { keys: DEFAULT_KEYS, compat: false, sapCompat: false, digest },
  );

/** Nothing is asked for by annotations. */
function silentWorld(options: Parameters<typeof setUp>[0] = {}) {
  const configs = new ReloaderConfigs(settings([]));
  const world = setUp({ configs, ...options });
  world.engine.workloadSeen(web(6, { annotations: { 'reloader.stakater.com/auto': '' } }), 'list');
  return { ...world, configs };
}

describe('a config that needs the consent of another namespace', () => {
  const FOREIGN = { ...APP, namespace: 'team' };
  const FACTS = { labels: {}, allowsFrom: new Set(['team']) };

  function foreign() {
    const world = silentWorld();
    world.sources.put(source('A', 5, FOREIGN), false);
    world.engine.begin();
    const ask = (version: number) => {
      const targets = [{ kind: 'Deployment', name: 'web', namespace: 'shop' }];
      world.engine.asksChanged(world.configs.put(config(version, 'team', { targets })), version);
    };
    const consent = (version: number, isListed = false) =>
      world.engine.asksChanged(world.configs.namespaceSeen('shop', { ...FACTS, version }), version, isListed);
    return { ...world, ask, consent };
  }

  test('counts nothing that changed before it, though the consent that a listing shows is older', () => {
    const world = foreign();
    world.put(source('B', 300, FOREIGN));
    world.ask(500);
    world.consent(100, true);
    expect(world.waits()).toEqual([]);
    world.put(source('C', 501, FOREIGN));
    expect(world.waits()).toEqual(['ConfigMap/team/app']);
  });

  test.each(['before', 'after'])('counts nothing that changed before the consent, told %s the config', (told) => {
    const world = foreign();
    world.consent(600);
    if (told === 'before') world.put(source('B', 550, FOREIGN));
    world.ask(500);
    if (told === 'after') world.put(source('B', 550, FOREIGN));
    expect(world.waits()).toEqual([]);
    world.put(source('C', 601, FOREIGN));
    expect(world.waits()).toEqual(['ConfigMap/team/app']);
  });
});

test('a source whose namespace leaves the scope rolls nobody elsewhere, and what changed meanwhile is none when it is back', () => {
  const scope = new Set(['shop', 'team']);
  const world = silentWorld({ inScope: (namespace) => scope.has(namespace) });
  const foreign = { ...APP, namespace: 'team' };
  world.sources.put(source('A', 5, foreign), false);
  world.configs.namespaceSeen('shop', { labels: {}, allowsFrom: new Set(['team']) });
  world.engine.begin();
  const targets = [{ kind: 'Deployment', name: 'web', namespace: 'shop' }];
  world.engine.asksChanged(world.configs.put(config(10, 'team', { targets })), 10);
  world.put(source('B', 11, foreign));
  expect(world.waits()).toEqual(['ConfigMap/team/app']);
  scope.delete('team');
  world.engine.namespaceChanged('team', Number.POSITIVE_INFINITY);
  expect(world.waits()).toEqual([]);
  scope.add('team');
  world.engine.namespaceChanged('team', 12);
  expect(world.waits()).toEqual([]);
  world.put(source('C', 13, foreign));
  expect(world.waits()).toEqual(['ConfigMap/team/app']);
});

describe('a template that a Rollout has borrowed', () => {
  function borrowed() {
    const world = silentWorld();
    world.sources.put(source('A', 5), false);
    world.engine.workloadSeen(borrower(7), 'list');
    world.engine.begin();
    const ask = (version: number, isListed = false, spec: object = {}) => {
      const next = config(version, 'shop', { targets: [{ kind: 'Rollout', name: 'r' }], ...spec });
      world.engine.asksChanged(world.configs.put(next), version, isListed);
    };
    return { ...world, ask };
  }

  test('begins with what there was when a config came for it, as any other', () => {
    const listed = borrowed();
    listed.ask(3, true);
    expect(listed.waits()).toEqual([]);

    const configFirst = borrowed();
    configFirst.ask(10);
    configFirst.put(source('B', 9));
    expect(configFirst.waits()).toEqual([]);
    configFirst.put(source('C', 11));
    expect(configFirst.waits()).toEqual(['ConfigMap/app']);
  });

  test('is changed where the Rollout is to be restarted: the pods are not those of its owner', () => {
    const world = borrowed();
    world.ask(10, false, { rolloutStrategy: 'restart' });
    world.put(source('B', 11));
    expect(world.waits()).toEqual(['ConfigMap/app']);
    const { workload } = world.state();
    const verdict = world.engine.verdicts.of(workload, APP);
    expect(actionFor(DEPLOYMENT, workload, [verdict], policyOf())).toBe('patch');
    expect(verdict.rule).toContain('ReloaderConfig shop/main');
  });
});
