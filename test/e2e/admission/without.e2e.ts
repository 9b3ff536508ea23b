import { expect, test } from 'vitest';
import { api } from '../../support/sandbox.ts';
import { until } from '../../support/wait.ts';
import { DIALECTS, world } from './world.ts';

const [STAKATER] = DIALECTS as [(typeof DIALECTS)[number]];

test('without admission T1 to T3 show why there is one', async () => {
  await using w = await world(STAKATER, { replicas: 0, spaces: 2 });
  const metric = async (name: string) => await w.alone?.metric(name);

  // T1: a manifest without the mark, after the rollout. It replaces the pods once more, and Attune adds nothing to that.
  await using first = await w.scene();
  await first.reload('v2');
  for (let round = 0; round < 2; round += 1) {
    await api().replace(first.path, first.manifest);
    await first.complete();
  }
  await first.fence();
  expect(first.rolls()).toBe(2);
  expect(await metric('attune_reverted_total')).toBe(0);
  expect(await metric('attune_undelivered_changes')).toBe(0);

  // T2 and T3: the same during the rollout, which goes back to the old pods. The rollout never completes.
  await using scene = await w.scene();
  const manifest = { ...scene.manifest, spec: { ...scene.manifest.spec, minReadySeconds: 500 } };
  const put = () => api().replace(scene.path, manifest);
  await put();
  await scene.change('v2');
  await put();
  await scene.audit.until('applied once more', () => scene.rolls() === 3);
  await put();
  // Nobody fights for ever: the change is told to be undelivered.
  await until(async () => (await metric('attune_undelivered_changes')) === 1, { what: 'the change is given up' });
  await scene.fence();
  expect(scene.rolls()).toBe(4);
});
