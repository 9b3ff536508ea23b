import { expect, test } from 'vitest';
import { NUDGE } from '../../../src/api/annotations.ts';
import { Audit } from '../../support/audit.ts';
import { stage } from '../../support/controller.ts';
import { api } from '../../support/sandbox.ts';
import { pathOf } from '../../support/workloads.ts';
import { Fence, marksOf, movesIn } from './moves.ts';

const DEFAULT = '--quiet-period=50ms';
const COMPAT = '--compat=stakater';

test.each([DEFAULT, COMPAT])(
  '3. metadata only, or the same data again: nothing is written, the skip is counted: %s',
  async (flag) => {
    await using here = await stage();
    await using audit = await Audit.of(here.space, ['Deployment']);
    const moves = movesIn(here.space);
    const fence = await Fence.in(here.space, audit);
    await moves.createSource('ConfigMap', 'app', { a: '1' });
    const before = await moves.createUser('web', 'app');
    await using attune = await here.start([flag]);
    const skipped = async () => (await attune.metric('reloader_skipped_total', { reason: 'no_data_change' })) ?? 0;
    const skippedBefore = await skipped();

    const metadata = { labels: { new: 'label' }, annotations: { new: 'annotation' } };
    await api().patch(pathOf('ConfigMap', here.space, 'app'), { metadata });
    await api().patch(pathOf('ConfigMap', here.space, 'app'), { immutable: true });
    // The server notices that nothing changes and tells nobody.
    await moves.setData('ConfigMap', 'app', { a: '1' });
    await fence.pass();

    const web = audit.latest('Deployment', 'web');
    expect(web?.metadata.generation).toBe(before.metadata.generation);
    expect(marksOf('Deployment', web)).toEqual({});
    expect((await skipped()) - skippedBefore).toBe(2);
  },
);

// Stakater's hash is the same before and after.
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
  '3. a move from data to binaryData (V12): Stakater does nothing: %s',
  async (strategy) => {
    await using here = await stage();
    await using audit = await Audit.of(here.space, ['Deployment']);
    const moves = movesIn(here.space);
    const fence = await Fence.in(here.space, audit);
    await moves.createSource('ConfigMap', 'app', { x: 'dGVzdA==' });
    await moves.createUser('web', 'app');
    await using _attune = await here.start([COMPAT, `--reload-strategy=${strategy}`]);
    await toBinary(here.space);
    await fence.pass();
    expect(audit.templates('Deployment', 'web')).toHaveLength(1);
  },
);

test('3. a move from data to binaryData (V12) is a change by default, and rolls once', async () => {
  await using here = await stage();
  await using audit = await Audit.of(here.space, ['Deployment']);
  const moves = movesIn(here.space);
  const fence = await Fence.in(here.space, audit);
  await moves.createSource('ConfigMap', 'app', { x: 'first' });
  await moves.createUser('web', 'app');
  await using _attune = await here.start([DEFAULT]);
  const rolled = (times: number) =>
    audit.until(`${times} rollouts`, () => audit.templates('Deployment', 'web').length === times + 1);
  await moves.setData('ConfigMap', 'app', { x: 'dGVzdA==' });
  await rolled(1);
  await toBinary(here.space);
  await rolled(2);
  await fence.pass();
  await rolled(2);
  expect(audit.latest('Deployment', 'web')?.['spec'].template.metadata.annotations).toHaveProperty([NUDGE]);
});
