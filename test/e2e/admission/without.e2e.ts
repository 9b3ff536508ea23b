import { expect, test } from 'vitest';
import { api } from '../../support/sandbox.ts';
import { DIALECTS, type Scene, world } from './world.ts';

const [STAKATER] = DIALECTS as [(typeof DIALECTS)[number]];

test('without admission T1 to T3 show why there is one', async () => {
  await using w = await world(STAKATER, { replicas: 0, spaces: 2 });
  const put = ({ path, manifest }: Scene) => api().replace(path, manifest);
  await using first = await w.scene();
  await first.reload('v2');
  await put(first);
  // Off and on again: two templates too many.
  await first.audit.until('the mark is taken away and put back', () => first.rolls() === 3);
  await using scene = await w.scene(3);
  await scene.change('v2');
  await put(scene);
  await scene.audit.until('applied once more', () => scene.rolls() === 3);
  await put(scene);
  await scene.fence();
  // Nobody fights for ever: the change is told to be undelivered.
  expect(scene.rolls()).toBe(4);
});
