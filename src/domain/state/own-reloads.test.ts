import { expect, test } from 'vitest';
import { APP, running, setUp, source, WEB, web } from '../../../test/support/engine-world.ts';
import { RECORD, RELOADED_AT } from '../../api/annotations.ts';
import { encodeRecord } from '../ledger/record.ts';
import { brings, isRestart, type Restart } from '../ledger/restart.ts';

const ID = 'ConfigMap/app';
const RESTART: Restart = { at: 90, version: 8, pods: 2, uids: ['a', 'b'], changes: { [ID]: ['B', 7] } };
const record = (seq: number, at: number) => ({
  [RECORD]: encodeRecord({ uid: 'w', seq, key: 'k', template: '', sources: { [ID]: 'A' }, at }),
});

/** After a start: a workload with these annotations, and what the checkpoint says about it. */
function started(annotations: Record<string, string>, entry?: Parameters<typeof setUp>[0]) {
  const world = setUp(entry);
  world.sources.put(source('A', 5), false);
  world.engine.workloadSeen(web(3, { annotations }), 'list');
  world.engine.begin();
  return world.state();
}

const entryOf = (parts: object) => ({ entry: { seq: 2, applied: { [ID]: 'A' }, ...parts } });

test('the last reload is known from the record and from the checkpoint, whichever is later', () => {
  expect(started({}).reloads.at).toBeUndefined();
  expect(started(record(1, 70)).reloads.at).toBe(70);
  expect(started({}, entryOf({ reloadedAt: 80 })).reloads.at).toBe(80);
  expect(started(record(1, 70), entryOf({ reloadedAt: 80 })).reloads.at).toBe(80);
  expect(started(record(3, 90), entryOf({ reloadedAt: 80 })).reloads.at).toBe(90);
});

test('a Job that took the place of another says so itself', () => {
  expect(started({ [RELOADED_AT]: '1970-01-01T00:01:40Z' }).reloads.at).toBe(100);
});

test('a restart is gone on with, unless a record is newer than the checkpoint', () => {
  expect(started({}, entryOf({ restart: RESTART })).reloads).toMatchObject({ restart: RESTART, at: 90 });
  expect(started(record(2, 70), entryOf({ restart: RESTART })).reloads.restart).toEqual(RESTART);
  expect(started(record(3, 95), entryOf({ restart: RESTART })).reloads).toMatchObject({ restart: undefined, at: 95 });
});

test('of what a restart brings nobody knows which pods have it: to go back to what there was is a change', () => {
  const world = running();
  world.put(source('B', 10));
  world.state().restarting({ ...RESTART, changes: { [ID]: ['B', 10] } });
  world.put(source('A', 11));
  expect([...world.state().waiting]).toEqual([[ID, 'A']]);
  expect(brings(world.state().reloads.restart, { id: ID, current: 'A', since: 11 })).toBe(false);
});

test('a leader finds the restart of the one before, and forgets its own that another has finished', () => {
  const options = entryOf({ restart: RESTART });
  const world = running(options);
  world.engine.states.get(WEB)?.reloads.restartEnded();
  world.engine.termBegan();
  expect(world.state().reloads.restart).toEqual(RESTART);
  expect(world.state().applied.get(ID)).toBe('?');
  const other = running();
  other.state().restarting(RESTART);
  other.engine.termBegan();
  expect(other.state().reloads.restart).toBeUndefined();
});

test('a leader does not go on with a restart that a newer record has ended', () => {
  const restart = { ...RESTART, changes: { [ID]: ['A', 5] } } as const;
  const world = running(entryOf({ restart }));
  world.engine.workloadSeen(web(9, { annotations: record(3, 95), mark: 'A' }), 'watch');
  world.engine.termBegan();
  const { reloads, waiting } = world.state();
  expect([reloads.restart, reloads.at, waiting.size]).toEqual([undefined, 95, 0]);
});

test('what is settled ends a restart, and when it began is remembered', () => {
  const world = running();
  world.state().restarting(RESTART);
  world.wrote('B', 20);
  expect(world.state().reloads).toMatchObject({ restart: undefined, at: 90 });
  expect(world.sources.current(APP)).toBe('A');
});

test('a damaged restart is none', () => {
  expect(isRestart(RESTART)).toBe(true);
  for (const damage of [{ at: '90' }, { uids: [1] }, { uids: {} }, { changes: { x: ['B'] } }, { evictedAt: null }]) {
    expect(isRestart({ ...RESTART, ...damage })).toBe(false);
  }
  for (const changes of [undefined, null, [], 'app']) expect(isRestart({ ...RESTART, changes })).toBe(false);
  expect(isRestart([])).toBe(false);
});
