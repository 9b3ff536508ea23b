import { expect, test } from 'vitest';
import { source, WEB } from '../../../test/support/engine-world.ts';
import { settledWorld, shownOf, WEB_SPEC } from '../../../test/support/status-world.ts';

const MINUTE_MS = 60_000;

test.each([500, 503])('a write that failed with %i is tried again, though a pausePeriod runs', async (code) => {
  let isFailing = false;
  const targets = [{ ...WEB_SPEC.targets[0], pausePeriod: '1h' }];
  const world = await settledWorld(
    {
      answer: (exchange) => {
        if (!isFailing) return false;
        isFailing = false;
        exchange.status(code, 'InternalError');
        return true;
      },
    },
    { ...WEB_SPEC, targets },
  );
  await world.pass(MINUTE_MS);
  isFailing = true;
  world.put(source('B', 200));
  world.engine.states.get(WEB)?.reloads.reloaded(world.clock.wall() / 1000);
  world.outcome('rolled');
  await world.pass(2 * MINUTE_MS);
  expect(isFailing).toBe(false);
  expect(world.status().reloadCount).toBe(1);
  await world.end();
});

test('what a version before showed of sources is written over once', async () => {
  const world = await settledWorld();
  const status = { ...world.status(), watchedResourceHashes: { 'shop/ConfigMap/app': 'A' } };
  world.apply(WEB_SPEC, 'main', { status });
  await world.nextTerm();
  await world.pass(MINUTE_MS);
  expect(world.status().watchedResourceHashes).toEqual(shownOf('A'));
  world.bring('main');
  await world.nextTerm();
  await world.pass(10 * MINUTE_MS);
  expect(world.writes()).toHaveLength(2);
  await world.end();
});
