import { expect, test } from 'vitest';
import { APP, source, WEB } from '../../../test/support/engine-world.ts';
import { conditionOf, type StatusWorld, statusWorld, WEB_SPEC } from '../../../test/support/status-world.ts';
import { DEFAULT_KEYS } from '../../api/annotations.ts';
import { kindNamed, type WorkloadKind } from '../../api/kinds.ts';
import { parseWorkload } from '../../domain/workload/parse-workload.ts';
import { createDigest } from '../../runtime/digest.ts';

const ROLLOUT = kindNamed('Rollout') as WorkloadKind;
const TARGETS = [{ kind: 'Rollout', name: 'canary', pausePeriod: '1h' }];
const MINUTE_MS = 60_000;

/** A Rollout that has borrowed the template of the Deployment `web`, and a config that names it. */
async function borrowingWorld(spec: object, annotations = {}): Promise<StatusWorld> {
  const world = await statusWorld({ flags: ['--is-Argo-Rollouts=true'] });
  const metadata = { name: 'canary', namespace: 'shop', uid: 'c', resourceVersion: '9', generation: 1, annotations };
  const object = { metadata, spec: { workloadRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' } } };
  const digest = createDigest(new Uint8Array(32)).text;
  const parsing = { keys: DEFAULT_KEYS, compat: false, sapCompat: false, digest };
  world.put(source('A', 5));
  world.engine.begin();
  world.workload(10);
  world.engine.workloadSeen(parseWorkload(ROLLOUT, object, parsing), 'watch');
  world.apply({ targets: TARGETS, ...spec });
  await world.pass(MINUTE_MS);
  return world;
}

test.each<[string, object]>([
  ['named', { watchedResources: { configMaps: ['app'] } }],
  ['used by the template', { autoReloadAll: true }],
])('its target watches what the template of the Deployment is reloaded for: %s', async (_, spec) => {
  const world = await borrowingWorld(spec);
  expect(world.status()).toMatchObject({ watchedResourceCount: 1 });
  world.put(source('B', 200));
  await world.pass(6000);
  expect(conditionOf(world.status(), 'Progressing')).toMatchObject({ reason: 'ReloadPending' });
  world.outcome('refused', 'the quota is used up');
  await world.pass(2000);
  expect(conditionOf(world.status(), 'Degraded')).toMatchObject({ reason: 'ReloadFailed' });
  world.engine.states.get(WEB)?.reloads.reloaded(world.clock.wall() / 1000);
  world.outcome('rolled');
  await world.pass(6000);
  expect(conditionOf(world.status(), 'Degraded')).toMatchObject({ status: 'False' });
  expect(world.status()).toMatchObject({ reloadCount: 1, targetStatus: [{ name: 'canary', reloadCount: 1 }] });
  expect(world.status().targetStatus?.[0]).toHaveProperty('pausedUntil');
  await world.end();
});

test('of two configs, for the Rollout and for the Deployment, the other one says who decides', async () => {
  const world = await borrowingWorld({ autoReloadAll: true });
  world.apply(WEB_SPEC, 'younger');
  world.statuses.asksChanged([WEB]);
  await world.pass(6000);
  const state = world.engine.states.get(WEB);
  const verdict = state && world.engine.verdicts.of(state.workload, APP);
  const decider = verdict?.reload && verdict.ask.origin.by === 'config' && verdict.ask.origin.name;
  const deciders = ['main', 'younger'].map((name) => world.status(name).targetStatus?.[0]?.decidedBy);
  expect(deciders).toEqual(
    ['main', 'younger'].map((name) => (name === decider ? undefined : `ReloaderConfig shop/${decider}`)),
  );
  await world.end();
});

test('it gets a new template, and its status says so, whoever wants pods to be evicted', async () => {
  const world = await borrowingWorld({ autoReloadAll: true, rolloutStrategy: 'restart' });
  expect(world.status().targetStatus?.[0]).toMatchObject({ name: 'canary', rolloutStrategy: 'rollout' });
  await world.end();
});

test.each<[string, object, object]>([
  ['pods evicted', { rolloutStrategy: 'restart' }, { ask: { overrides: { rolloutStrategy: 'rollout' } } }],
  ['no alert', { alerts: false }, { isSilent: undefined }],
])('what the Rollout asks for counts, though who asks for the Deployment wants %s', async (_, wish, verdict) => {
  const targets = [{ kind: 'Deployment', name: 'web' }];
  const watchedResources = { configMaps: ['app'] };
  const auto = { 'reloader.stakater.com/auto': 'true' };
  const world = await borrowingWorld({ watchedResources, targets, ...wish }, auto);
  const state = world.engine.states.get(WEB);
  expect(state && world.engine.verdicts.of(state.workload, APP)).toMatchObject({ reload: true, ...verdict });
  await world.end();
});
