import { expect, test } from 'vitest';
import { parsed, running, source, web, webObject } from '../../../test/support/engine-world.ts';
import { DEFAULT_KEYS } from '../../api/annotations.ts';
import { askingIn, pendingIn } from './census.ts';

const PAUSED_AT = { [DEFAULT_KEYS.pausedAt]: '2026-01-01T12:00:00Z' };
const paused = (version: number, annotations: Record<string, string>) => {
  const { spec, ...object } = webObject(version, { annotations });
  return parsed({ ...object, spec: { ...spec, paused: true } } as typeof object);
};
const pending = (world: ReturnType<typeof running>) => pendingIn(world.engine.states.values(), DEFAULT_KEYS);

test('a change is pending until it is written', () => {
  const world = running();
  expect(pending(world)).toEqual({ waiting: 0, pending: 0, undelivered: 0 });
  world.put(source('B', 10));
  expect(pending(world)).toEqual({ waiting: 1, pending: 1, undelivered: 0 });
  world.put(source('A', 11));
  expect(pending(world)).toEqual({ waiting: 0, pending: 0, undelivered: 0 });
});

test("it is pending while Attune's pause keeps the pods from it, and not while somebody else's does", () => {
  const world = running();
  world.engine.workloadSeen(paused(20, PAUSED_AT), 'watch');
  expect(pending(world)).toEqual({ waiting: 0, pending: 1, undelivered: 0 });
  world.put(source('B', 21));
  expect(pending(world)).toEqual({ waiting: 1, pending: 1, undelivered: 0 });
  world.put(source('A', 22));
  world.engine.workloadSeen(paused(23, {}), 'watch');
  expect(pending(world).pending).toBe(0);
  world.engine.workloadSeen(web(24, { annotations: PAUSED_AT }), 'watch');
  expect(pending(world).pending).toBe(0);
});

test('what another writer keeps undoing does not wait: it is counted for itself', () => {
  const world = running();
  world.put(source('B', 10));
  for (const version of [11, 13]) {
    world.wrote('B', version);
    world.engine.workloadSeen(web(version + 1), 'watch');
  }
  expect(pending(world)).toEqual({ waiting: 0, pending: 0, undelivered: 1 });
});

test('who asks is who would be reloaded for something', () => {
  const world = running();
  const asking = () => askingIn(world.engine, { ...world, inScope: () => true });
  expect(asking()).toBe(1);
  world.engine.workloadSeen(web(20, { annotations: { 'reloader.stakater.com/auto': 'false' } }), 'watch');
  expect(asking()).toBe(0);
});
