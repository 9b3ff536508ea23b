import { expect, test } from 'vitest';
import { RECORD } from '../../../src/api/annotations.ts';
import { type KindName, WORKLOAD_KINDS } from '../../../src/api/kinds.ts';
import { untilMarked } from '../reloader/moves.ts';
import { change, configWorld, type Shop } from './config-world.ts';

const KINDS = WORKLOAD_KINDS.map(({ kind }) => kind);
const nameOf = (kind: KindName): string => `of-${kind.toLowerCase()}`;

/** How often a workload was reloaded, in the way of its kind. */
function reloadsOf({ audit, rolls }: Shop, kind: KindName): number {
  const name = nameOf(kind);
  if (kind === 'Job') return new Set(audit.sightings('Job', name).map(({ object }) => object.metadata.uid)).size - 1;
  if (kind === 'CronJob') return audit.all('Job').filter((job) => job.metadata.name.startsWith(`${name}-`)).length;
  return rolls(name, kind);
}

const reloads = (shop: Shop) => Object.fromEntries(KINDS.map((kind) => [kind, reloadsOf(shop, kind)]));
const each = (count: number) => Object.fromEntries(KINDS.map((kind) => [kind, count]));

test('every kind: the first change at once, and then none for the period, whoever is killed', async () => {
  await using world = await configWorld();
  const { shop } = world;
  for (const kind of KINDS) {
    const name = nameOf(kind);
    await shop.source('ConfigMap', name);
    await shop.target(kind, name);
    const targets = [{ kind, name, pausePeriod: '1h' }];
    await shop.config(name, { watchedResources: { configMaps: [name] }, targets });
  }
  const changeAll = () => Promise.all(KINDS.map((kind) => change(shop, 'ConfigMap', nameOf(kind))));
  const first = await world.start();
  await changeAll();
  await shop.audit.until('one reload each', () => KINDS.every((kind) => reloadsOf(shop, kind) > 0));
  await first.kill9();
  await changeAll();
  await world.start();
  await world.fence();
  await changeAll();
  await world.fence();
  expect(reloads(shop)).toEqual(each(1));
  for (const { object } of shop.audit.sightings('Deployment', nameOf('Deployment'))) {
    expect(object['spec'].paused).toBeUndefined();
  }
});

test('when the period is over: one rollout with all that came', async () => {
  await using world = await configWorld();
  const { shop } = world;
  const names = ['one', 'two'];
  for (const name of names) await shop.source('ConfigMap', name);
  await shop.target('Deployment', 'web');
  const targets = [{ kind: 'Deployment', name: 'web', pausePeriod: '5s' }];
  await shop.config('web', { watchedResources: { configMaps: names }, targets });
  await world.start();
  await change(shop, 'ConfigMap', 'one');
  await shop.untilRolled('web');
  // At once: between two that come one after the other the period may end, and the first is rolled alone.
  await Promise.all(names.map((name) => shop.moves.setData('ConfigMap', name, { value: `last of ${name}` })));
  for (const name of names) await untilMarked(shop.audit, 'Deployment', 'web', { value: `last of ${name}` });
  await world.fence();
  expect(shop.rolls('web')).toBe(2);
  const texts = shop.audit.sightings('Deployment', 'web').map(({ object }) => object.metadata.annotations?.[RECORD]);
  const times = [...new Set(texts)].flatMap((text) => (text ? [JSON.parse(text).at as number] : []));
  expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(5);
});
