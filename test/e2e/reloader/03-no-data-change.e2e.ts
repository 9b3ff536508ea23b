import { expect, test } from 'vitest';
import { NUDGE } from '../../../src/api/annotations.ts';
import { api } from '../../support/sandbox.ts';
import { pathOf } from '../../support/workloads.ts';
import { marksOf } from './moves.ts';
import { COMPAT, DEFAULT, MODES, scene } from './scene.ts';

test.each(MODES)('3. metadata only, or the same data again: no write, and the skip is counted: %s', async (mode) => {
  await using here = await scene();
  await here.createSource('ConfigMap', 'app', { a: '1' });
  const before = await here.createUser('web', 'app');
  const attune = await here.start([mode]);
  const skipped = async () => (await attune.metric('reloader_skipped_total', { reason: 'no_data_change' })) ?? 0;
  const skippedBefore = await skipped();

  const metadata = { labels: { new: 'label' }, annotations: { new: 'annotation' } };
  await api().patch(pathOf('ConfigMap', here.space, 'app'), { metadata });
  await api().patch(pathOf('ConfigMap', here.space, 'app'), { immutable: true });
  // The server notices that nothing changes and tells nobody.
  await here.setData('ConfigMap', 'app', { a: '1' });
  await here.fence.pass();

  const web = here.audit.latest('Deployment', 'web');
  expect(web?.metadata.generation).toBe(before.metadata.generation);
  expect(marksOf('Deployment', web)).toEqual({});
  expect((await skipped()) - skippedBefore).toBe(2);
});

/** Stakater's hash is the same before and after. */
const toBinary = (space: string) =>
  api().patch(
    pathOf('ConfigMap', space, 'app'),
    [
      { op: 'remove', path: '/data' },
      { op: 'add', path: '/binaryData', value: { x: 'dGVzdA==' } },
    ],
    'json',
  );

test.each(['env-vars', 'annotations'])(
  '3. a move from data to binaryData (V12), of which Stakater sees nothing: %s',
  async (strategy) => {
    await using here = await scene();
    await here.createSource('ConfigMap', 'app', { x: 'dGVzdA==' });
    await here.createUser('web', 'app');
    await here.start([COMPAT, `--reload-strategy=${strategy}`]);
    await toBinary(here.space);
    await here.fence.pass();
    expect(here.audit.templates('Deployment', 'web')).toHaveLength(1);
  },
);

test('3. a move from data to binaryData (V12) is a change by default, and rolls once', async () => {
  await using here = await scene();
  await here.createSource('ConfigMap', 'app', { x: 'first' });
  await here.createUser('web', 'app');
  await here.start([DEFAULT]);
  const rolled = (times: number) =>
    here.audit.until(`${times} rollouts`, () => here.audit.templates('Deployment', 'web').length === times + 1);
  await here.setData('ConfigMap', 'app', { x: 'dGVzdA==' });
  await rolled(1);
  await toBinary(here.space);
  await rolled(2);
  await here.fence.pass();
  await rolled(2);
  expect(here.audit.latest('Deployment', 'web')?.['spec'].template.metadata.annotations).toHaveProperty([NUDGE]);
});
