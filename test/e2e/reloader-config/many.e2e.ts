import { expect, test } from 'vitest';
import { faultProxy } from '../../support/proxy.ts';
import { untilCalm } from '../reloader/moves.ts';
import { change, configWorld } from './config-world.ts';

const MANY = 500;
const AT_ONCE = 20;

async function each(count: number, work: (n: number) => Promise<unknown>): Promise<void> {
  const numbers = Array.from({ length: count }, (_, n) => n).values();
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const n of numbers) await work(n);
    }),
  );
}

test('500 configs over 500 running workloads roll nothing; a change is asked about by its matches, and costs their writes', async () => {
  const { access, counts, resetCounts } = await faultProxy();
  await using world = await configWorld();
  const { shop } = world;
  const isShared = (n: number): boolean => n % 100 === 0;
  await shop.source('ConfigMap', 'shared');
  await each(MANY, async (n) => {
    await shop.source('ConfigMap', `app-${n}`);
    await shop.target('Deployment', `app-${n}`, [{ kind: 'ConfigMap', name: `app-${n}` }]);
  });
  const controller = await world.start({ access });
  await each(MANY, (n) =>
    shop.config(`app-${n}`, {
      watchedResources: { configMaps: isShared(n) ? [`app-${n}`, 'shared'] : [`app-${n}`] },
      targets: [{ kind: 'Deployment', name: `app-${n}` }],
    }),
  );
  await world.fence();
  await untilCalm(shop.audit, shop.moves);
  const rolled = () => Array.from({ length: MANY }, (_, n) => shop.rolls(`app-${n}`));
  expect(rolled().every((times) => times === 0)).toBe(true);

  const judged = async (): Promise<number> => (await controller.metric('reloader_workloads_scanned_total')) ?? 0;
  const before = await judged();
  resetCounts();
  await change(shop, 'ConfigMap', 'shared');
  await Promise.all(Array.from({ length: MANY / 100 }, (_, n) => shop.untilRolled(`app-${n * 100}`)));
  expect((await judged()) - before).toBe(MANY / 100);
  expect(counts.get('patch deployments')).toBe(MANY / 100);
  const reads = [...counts.keys()].filter((key) => /^(?:get|list) (?!leases|.openapi)/.test(key));
  expect(reads).toEqual([]);
  expect(rolled().reduce((sum, times) => sum + times, 0)).toBe(MANY / 100);
});
