import { describe, expect, test } from 'vitest';
import { LAST_RELOADED_FROM } from '../../../src/api/annotations.ts';
import { api } from '../../support/sandbox.ts';
import { pathOf, sha1 } from '../../support/workloads.ts';
import { marksOf, untilMarked } from './moves.ts';
import { COMPAT, DEFAULT, MODES, type Scene, scene } from './scene.ts';

const V1 = { value: '1' };
const V2 = { value: '2' };
const MARK = 'app/STAKATER_APP_CONFIGMAP';
const DELETE_MARK = 'aae45badef99284e4dae01d6046154ea9d99532f';
const ON_CREATE = '--reload-on-create=true';
const ON_DELETE = '--reload-on-delete=true';

const marks = (here: Scene) => marksOf('Deployment', here.audit.latest('Deployment', 'web'));
const rollouts = (here: Scene) => here.audit.templates('Deployment', 'web').length - 1;
const untilRolled = (here: Scene, times: number) =>
  here.audit.until(`rollout ${times}`, () => rollouts(here) >= times, 40_000);
const lastFrom = (here: Scene): { readonly hash?: string } =>
  JSON.parse(
    here.audit.latest('Deployment', 'web')?.['spec'].template.metadata.annotations?.[LAST_RELOADED_FROM] ?? '{}',
  );

describe.each(MODES)('8. %s', (mode) => {
  test('without flags what comes and goes rolls nothing', async () => {
    await using here = await scene();
    await here.createUser('web', 'app');
    await here.start([mode]);
    await here.createSource('ConfigMap', 'app', V1);
    await here.fence.pass();
    await here.deleteSource('ConfigMap', 'app');
    await here.fence.pass();
    expect(rollouts(here)).toBe(0);
  });

  test('with reload-on-create what comes rolls, what goes does not, and the start does not', async () => {
    await using here = await scene();
    await here.createSource('ConfigMap', 'old', V1);
    await here.createUser('web', 'app');
    await here.createUser('unmoved', 'old');
    await here.start([mode, ON_CREATE]);
    await here.createSource('ConfigMap', 'app', V1);
    await untilMarked(here.audit, 'Deployment', 'web', V1);
    await here.deleteSource('ConfigMap', 'app');
    await here.fence.pass();
    expect(rollouts(here)).toBe(1);
    expect(here.audit.templates('Deployment', 'unmoved')).toHaveLength(1);
  });

  test('with reload-on-delete the variable goes, by a rollout of its own', async () => {
    await using here = await scene();
    await here.createSource('ConfigMap', 'app', V1);
    await here.createUser('web', 'app');
    await here.start([mode, ON_DELETE]);
    await here.setData('ConfigMap', 'app', V2);
    await untilMarked(here.audit, 'Deployment', 'web', V2);
    await here.deleteSource('ConfigMap', 'app');
    await untilRolled(here, 2);
    expect(marks(here)).toEqual({});
    await here.fence.pass();
    expect(rollouts(here)).toBe(2);
  });

  test('strategy annotations marks a deleted source with the hash of its absence', async () => {
    await using here = await scene();
    await here.createSource('ConfigMap', 'app', V1);
    await here.createUser('web', 'app');
    await here.start([mode, ON_DELETE, '--reload-strategy=annotations']);
    await here.deleteSource('ConfigMap', 'app');
    await untilRolled(here, 1);
    expect(lastFrom(here)).toMatchObject({ type: 'CONFIGMAP', name: 'app', hash: DELETE_MARK });
    await here.fence.pass();
    expect(rollouts(here)).toBe(1);
  });

  test.each([['env-vars'], ['annotations']])(
    'what came, changed and went during a downtime is caught up once: %s',
    async (strategy) => {
      await using here = await scene();
      const users = { came: 'new', changed: 'app', went: 'gone', stayed: 'same' };
      for (const [user, source] of Object.entries(users)) await here.createUser(user, source);
      for (const name of ['app', 'gone', 'same']) await here.createSource('ConfigMap', name, V1);
      const flags = [mode, ON_CREATE, ON_DELETE, '--sync-after-restart', `--reload-strategy=${strategy}`];
      const attune = await here.start(flags);
      // The mark that a deletion takes away has to be there first.
      await here.setData('ConfigMap', 'gone', V2);
      await untilMarked(here.audit, 'Deployment', 'went', V2);
      await attune.stop();
      await here.createSource('ConfigMap', 'new', V1);
      await here.setData('ConfigMap', 'app', V2);
      await here.deleteSource('ConfigMap', 'gone');
      for (const _ of [1, 2]) {
        const again = await here.start(flags);
        await here.fence.pass();
        await again.stop();
      }
      const counts = Object.keys(users).map((user) => [user, here.audit.templates('Deployment', user).length - 1]);
      expect(Object.fromEntries(counts)).toEqual({ came: 1, changed: 1, went: 2, stayed: 0 });
    },
  );

  test('ignoring one type does not make the other deaf for what comes', async () => {
    await using here = await scene();
    await here.createUser('web', 'app');
    await here.start([mode, ON_CREATE, '--resources-to-ignore=secrets']);
    await here.createSource('ConfigMap', 'app', V1);
    await untilMarked(here.audit, 'Deployment', 'web', V1);
  });

  test('an object that enters the resource selector has come, one that leaves it has gone', async () => {
    await using here = await scene();
    await here.createSource('ConfigMap', 'app', V1);
    await here.createUser('web', 'app');
    for (const { kind, name } of [
      { kind: 'ConfigMap', name: 'fence-configmap' },
      { kind: 'Secret', name: 'fence-secret' },
    ] as const) {
      await api().patch(pathOf(kind, here.space, name), { metadata: { labels: { reload: 'yes' } } });
    }
    await here.start([mode, ON_CREATE, ON_DELETE, '--resource-label-selector=reload=yes']);
    const label = (value: string | null) =>
      api().patch(pathOf('ConfigMap', here.space, 'app'), { metadata: { labels: { reload: value } } });
    await label('yes');
    await untilMarked(here.audit, 'Deployment', 'web', V1);
    await label(null);
    await untilRolled(here, 2);
    expect(marks(here)).toEqual({});
    await here.setData('ConfigMap', 'app', V2);
    await here.fence.pass();
    expect(rollouts(here)).toBe(2);
  });
});

test('8. Stakater: deleted and created with other data is no change without reload-on-create', async () => {
  await using here = await scene();
  await here.createSource('ConfigMap', 'app', V1);
  await here.createUser('web', 'app');
  await here.start([COMPAT]);
  await here.deleteSource('ConfigMap', 'app');
  await here.createSource('ConfigMap', 'app', V2);
  await here.fence.pass();
  expect(rollouts(here)).toBe(0);
});

test('8. by default deleted and created with other data is a change, with the same data it is none', async () => {
  await using here = await scene();
  await here.createSource('ConfigMap', 'app', V1);
  await here.createUser('web', 'app');
  const attune = await here.start([DEFAULT]);
  const recreate = async (data: Readonly<Record<string, string>>) => {
    await here.deleteSource('ConfigMap', 'app');
    await here.createSource('ConfigMap', 'app', data);
  };
  await recreate(V1);
  await here.fence.pass();
  expect(rollouts(here)).toBe(0);
  await recreate(V2);
  await untilMarked(here.audit, 'Deployment', 'web', V2);

  // The same, with the deletion and the creation on either side of a restart.
  await here.deleteSource('ConfigMap', 'app');
  await here.fence.pass();
  await attune.kill9();
  await here.start([DEFAULT]);
  await here.createSource('ConfigMap', 'app', V1);
  await untilMarked(here.audit, 'Deployment', 'web', V1);
  await here.fence.pass();
  expect(rollouts(here)).toBe(2);
  expect(marks(here)).toEqual({ [MARK]: sha1(V1) });
});
