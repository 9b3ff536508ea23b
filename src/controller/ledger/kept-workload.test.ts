import { expect, test } from 'vitest';
import { running, web } from '../../../test/support/engine-world.ts';
import { keptWorkload } from './kept-workload.ts';

test.each([
  ['is complete', { rolledOut: true }, 20, undefined],
  ['goes on', { rolledOut: false }, 20, true],
  ['is complete, with a template that is newer than all that was heard of sources', { rolledOut: true }, 9, true],
])('a rollout that %s', (_what, look, heard, coming) => {
  const world = running();
  world.engine.workloadSeen(web(10, { image: 'v2', revision: 2, ...look }), 'watch');
  expect(keptWorkload(world.state(), { 'ConfigMap/app': 'A' }, { ConfigMap: heard, Secret: 1 }).coming).toBe(coming);
});
