import { expect, test } from 'vitest';
import { rulesOf, source } from '../../../test/support/engine-world.ts';
import { A, sapWorld } from '../../../test/support/sap-world.ts';
import { CONFIG_HASH } from '../../api/annotations.ts';
import { refOf, type SourceId } from '../ledger/source-id.ts';
import type { Change } from '../outcome/change.ts';

const ID = 'ConfigMap/app';

/** Data changed, and we wrote: the template had a hash before, and has ours now. */
function written(before: string | undefined, sapCompat = false) {
  const world = sapWorld({ sapCompat });
  if (before !== undefined) world.seen(7, { hash: before, revision: 2 });
  let version = 10;
  let revision = 2;
  const change = (id: SourceId): Change => {
    const ref = refOf(id, 'shop');
    const verdict = world.engine.verdicts.of(world.state().workload, ref);
    if (!verdict.reload) throw new Error(verdict.rule);
    const { sources } = world;
    return {
      id,
      ref,
      verdict,
      difference: 'changed',
      current: sources.current(ref),
      since: sources.since(ref),
      mark: 'm',
    };
  };
  const write = (data: string, hash: string, hashBefore = before): void => {
    if (world.sources.current(A) !== data) world.put(source(data, version, A));
    const state = world.state();
    const changes = [...state.waiting.keys()].map(change);
    const edit = { env: [], annotations: { [CONFIG_HASH]: hash }, jsonPatch: false };
    state.writeBegan();
    state.writeAccepted(changes, { changes, edit, second: 0, hashBefore }, state.seq + 1);
    version += 1;
    revision += 1;
    world.engine.workloadSeen(world.web(version, { hash, revision }), 'write');
    world.engine.settled(state, changes, state.seq, true);
    world.engine.passDone(state);
  };
  const put = (hash: string | undefined, image = 'v1'): void => {
    version += 1;
    revision += 1;
    world.seen(version, { hash, revision, image });
  };
  const edit = (value: string): void => {
    version += 1;
    world.put(source(value, version, A));
  };
  write('B', 'ours');
  return { ...world, edit, write, put };
}

test.each([
  ['taken away', 'before', undefined],
  ['taken away, where there was none', undefined, undefined],
  ['set back', 'before', 'before'],
])('%s on a template that is otherwise the same: applied once more, then given up', (_, before, after) => {
  const world = written(before);
  expect(world.waits()).toEqual([]);
  world.put(after);
  expect(world.waits()).toEqual([ID]);
  expect(world.told).toContain('reverted');
  world.write('B', 'ours');
  world.put(after);
  expect(world.waits()).toEqual([]);
  expect(world.told).toContain('undelivered');
  expect(world.state().undelivered).toBe(1);
  world.put(after, 'v2');
  expect(world.state().undelivered).toBe(0);
});

test('a value that nobody of us knows was made by somebody who knows more', () => {
  const world = written('before');
  world.put('newer');
  expect(world.waits()).toEqual([]);
  expect(world.told).not.toContain('reverted');
});

test('with another template the hash is whose it is', () => {
  const world = written('before');
  world.put(undefined, 'v2');
  expect(world.waits()).toEqual([]);
  expect(world.told).not.toContain('reverted');
});

test('what the hash stood for before is applied again too', () => {
  const world = written('before');
  world.write('C', 'ours too', 'ours');
  world.put('before');
  // Neither taken away nor what was there before our last write.
  expect(world.told).not.toContain('reverted');
  world.write('D', 'third', 'before');
  world.put(undefined);
  expect(world.waits()).toEqual([ID]);
});

test('newer data that waits while the hash of the older is taken away was not taken away: it has a second attempt', () => {
  const world = written('before');
  world.edit('C');
  world.put('before');
  world.write('C', 'ours too');
  world.put('before');
  expect(world.waits()).toEqual([ID]);
  expect(world.told).not.toContain('undelivered');
  world.write('C', 'ours too');
  world.put('before');
  expect(world.waits()).toEqual([]);
  expect(world.state().undelivered).toBe(1);
});

test('as SAP, whoever sets one value after the other is not fought for ever', () => {
  const world = written('before', true);
  const ours = rulesOf(world.sources, true).configHash({ ConfigMap: ['app', 'b'], Secret: [] }, 'shop') ?? '';
  let writes = 0;
  for (let n = 0; n < 20 && world.waits().length > 0; n += 1) {
    world.write('B', ours, `theirs ${n - 1}`);
    writes += 1;
    world.put(`theirs ${n}`);
  }
  expect(world.waits()).toEqual([]);
  expect(writes).toBeLessThan(8);
  expect(world.state().undelivered).toBeGreaterThan(0);
});
