import { describe, expect, test } from 'vitest';
import { policyOf } from '../../../test/conformance/given.ts';
import { setUp, source, web } from '../../../test/support/engine-world.ts';
import { settings } from '../../../test/support/settings.ts';
import { change } from '../../../test/support/telling-world.ts';
import { parseReloaderConfig } from '../../domain/reloader-config/parse-config.ts';
import { ReloaderConfigs } from '../../model/reloader-configs/reloader-configs.ts';

const ID = 'ConfigMap/app';

/** Under compat: a workload whose template has had the mark of A since long ago, and a config that asks for it. */
function compatWorld(rolloutStrategy: string, options: Parameters<typeof setUp>[0] = {}) {
  const configs = new ReloaderConfigs(settings([]));
  const metadata = {
    ...{ name: 'main', namespace: 'shop', uid: 'c', generation: 1 },
    ...{ resourceVersion: '4', creationTimestamp: '2026-01-01T11:00:00Z' },
  };
  const targets = [{ kind: 'Deployment', name: 'web' }];
  const spec = { watchedResources: { configMaps: ['app'] }, rolloutStrategy, targets };
  configs.put(parseReloaderConfig({ metadata, spec } as never, 'ignore'));
  const world = setUp({ configs, policy: { ...policyOf(), compat: true }, ...options });
  world.sources.put(source('A', 5), false);
  world.engine.workloadSeen(web(6, { annotations: { 'reloader.stakater.com/auto': '' }, mark: 'A' }), 'list');
  world.engine.begin();
  return world;
}

describe.each([
  ['rollout', 'settles: it says what the pods run with', []],
  ['restart', 'says nothing: a restart leaves the template alone, and its marks are old', [ID]],
])('with rolloutStrategy %s an equal mark %s', (rolloutStrategy, _, waiting) => {
  test('while running', () => {
    const { engine, state, put, waits } = compatWorld(rolloutStrategy);
    put(source('B', 10));
    engine.settled(state(), [{ ...change('app'), current: 'B', since: 10 }], 1, false);
    put(source('A', 12));
    expect(waits()).toEqual(waiting);
  });

  test('at a start', () => {
    const { waits } = compatWorld(rolloutStrategy, { entry: { seq: 1, applied: { [ID]: 'B' } } });
    expect(waits()).toEqual(waiting);
  });
});
