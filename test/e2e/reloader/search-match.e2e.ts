import { expect, test } from 'vitest';
import { ROWS, type Row, reloads } from '../../conformance/search-match-rows.ts';
import { podUsing } from '../../support/workloads.ts';
import { COMPAT, MODES, type Scene, scene } from './scene.ts';

// That of --auto-reload-all would touch all others.
const PLAYED = ROWS.filter(({ all }) => !all);
const nameOf = ({ row }: Row): string => `row-${row}`;

async function setUp(here: Scene, row: Row): Promise<void> {
  const name = nameOf(row);
  const lists = Object.entries(row.workload).map(([key, text]) => [key, text === 'keys' ? name : text]);
  const pod = row.by === 'nothing' ? {} : podUsing({ kind: 'Secret', name }, row.by === 'env' ? 'envFrom' : row.by);
  await here.createSource('Secret', name, { v: '1' }, row.source);
  await here.create('Deployment', name, { annotations: Object.fromEntries(lists), pod });
}

test.each(MODES)('search and match, %s: rolled or left alone as the table says', async (mode) => {
  await using here = await scene();
  await Promise.all(PLAYED.map((row) => setUp(here, row)));
  await here.start([mode, '--reload-on-delete=true']);
  const rollouts = (row: Row): number => here.audit.templates('Deployment', nameOf(row)).length - 1;
  const expected = (row: Row, times = 1): number => (reloads(row, mode === COMPAT) ? times : 0);
  const untilRolled = (row: Row, times: number) =>
    here.audit.until(`row ${row.row} rolled ${times} times`, () => rollouts(row) >= expected(row, times));

  await Promise.all(PLAYED.map((row) => here.setData('Secret', nameOf(row), { v: '2' })));
  await Promise.all(PLAYED.map((row) => untilRolled(row, 1)));
  // A deletion takes the mark away that a change has left.
  const deleted = PLAYED.filter(({ isDeleted }) => isDeleted);
  await Promise.all(deleted.map((row) => here.deleteSource('Secret', nameOf(row))));
  await Promise.all(deleted.map((row) => untilRolled(row, 2)));
  await here.fence.pass();
  expect(PLAYED.map((row) => [row.row, rollouts(row)])).toEqual(
    PLAYED.map((row) => [row.row, expected(row, row.isDeleted ? 2 : 1)]),
  );
});
