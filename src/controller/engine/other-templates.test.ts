import { expect, test } from 'vitest';
import { parse } from '../../../test/conformance/given.ts';
import { markOf, running, source, web } from '../../../test/support/engine-world.ts';
import { RECORD } from '../../api/annotations.ts';
import { encodeRecord } from '../../domain/ledger/record.ts';

/** A Rollout without a template of its own. */
const borrower = (version: number) =>
  parse('Rollout', {
    metadata: { name: 'r', namespace: 'shop', uid: 'r', resourceVersion: String(version) },
    spec: { workloadRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' } },
  } as never);

test('a new template after the change brings it already; before the change it does not', () => {
  const after = running();
  after.put(source('B', 10));
  after.engine.workloadSeen(web(11, { image: 'v2' }), 'watch');
  expect(after.waits()).toEqual([]);
  expect(after.told).toEqual(['settled-by-another-writer']);

  const before = running();
  before.engine.workloadSeen(web(9, { image: 'v2' }), 'watch');
  before.put(source('B', 10));
  expect(before.waits()).toEqual(['ConfigMap/app']);
});

test('a new template that arrives before the older change it brings settles too', () => {
  const world = running();
  world.engine.workloadSeen(web(11, { image: 'v2' }), 'watch');
  world.put(source('B', 10));
  expect(world.waits()).toEqual([]);
});

test('going back to a recent template proves nothing', () => {
  const world = running();
  world.engine.workloadSeen(web(8, { image: 'v2' }), 'watch');
  world.put(source('B', 10));
  world.engine.workloadSeen(web(11, { image: 'v1' }), 'watch');
  expect(world.waits()).toEqual(['ConfigMap/app']);
});

test.each([
  ['may have been started until its controller heard of the next', false, ['ConfigMap/app']],
  ['are gone when all others are there', true, []],
] as const)('pods of a template that was left %s', (_what, rolledOut, waits) => {
  const world = running();
  world.engine.workloadSeen(web(8, { image: 'v2', revision: 2, rolledOut: false }), 'watch');
  world.engine.workloadSeen(web(9, { image: 'v3', revision: 3, rolledOut: false }), 'watch');
  world.engine.workloadSeen(web(10, { image: 'v3', revision: 3, rolledOut }), 'watch');
  world.put(source('B', 11));
  world.put(source('A', 12));
  world.engine.workloadSeen(web(13, { image: 'v2', revision: 4, rolledOut: false }), 'watch');
  expect(world.waits()).toEqual(waits);
});

test.each([
  ['may be one that was there while nobody looked', false, ['ConfigMap/app']],
  ['is new once there are no pods of another', true, []],
] as const)("another's template %s", (_what, rolledOut, waits) => {
  const world = running();
  world.engine.workloadSeen(web(20, { image: 'v2', revision: 3, rolledOut }), 'list', 8);
  world.put(source('B', 21));
  world.engine.workloadSeen(web(22, { image: 'v3', revision: 4, rolledOut: false }), 'watch');
  expect(world.waits()).toEqual(waits);
});

test('going back after a complete rollout makes new pods, unless nobody saw when it was complete', () => {
  const seen = running();
  seen.engine.workloadSeen(web(8, { image: 'v2', revision: 2, rolledOut: false }), 'watch');
  seen.engine.workloadSeen(web(9, { image: 'v2', revision: 2, rolledOut: true }), 'watch');
  seen.put(source('B', 10));
  seen.engine.workloadSeen(web(11, { image: 'v1', revision: 3, rolledOut: false }), 'watch');
  expect(seen.waits()).toEqual([]);

  const unseen = running();
  unseen.engine.workloadSeen(web(8, { image: 'v2', revision: 2, rolledOut: false }), 'watch');
  unseen.put(source('B', 10));
  unseen.engine.workloadSeen(web(12, { image: 'v1', revision: 3, rolledOut: true }), 'list', 10);
  expect(unseen.waits()).toEqual(['ConfigMap/app']);
});

test('what new pods had brought is open again when they are undone', () => {
  const world = running();
  world.put(source('B', 10));
  world.engine.workloadSeen(web(11, { image: 'v2' }), 'watch');
  expect(world.waits()).toEqual([]);
  world.engine.workloadSeen(web(12, { image: 'v1' }), 'watch');
  expect(world.waits()).toEqual(['ConfigMap/app']);
});

test('a mark that another writer removes is applied once more, then never again until something moves', () => {
  const world = running();
  world.put(source('B', 10));
  world.wrote('B', 11);
  world.engine.workloadSeen(web(12), 'watch');
  expect([world.told, world.waits()]).toEqual([['reverted'], ['ConfigMap/app']]);
  world.wrote('B', 13);
  world.engine.workloadSeen(web(14), 'watch');
  expect([world.told.at(-1), world.waits()]).toEqual(['undelivered', []]);
  expect(world.state().undelivered).toBe(1);
  world.put(source('C', 15));
  expect(world.waits()).toEqual(['ConfigMap/app']);
});

test.each([
  ['the pods are its own: all of them are new', false, []],
  ['a Rollout has borrowed it: its pods may be older', true, ['reverted']],
])('a mark that is taken from a template after the rollout, and %s', (_, isLent, told) => {
  const world = running();
  if (isLent) world.engine.workloadSeen(borrower(4), 'watch');
  world.put(source('B', 10));
  world.wrote('B', 11, { revision: 2, rolledOut: false });
  world.engine.workloadSeen(web(12, { mark: 'B', revision: 2, rolledOut: true }), 'watch');
  world.engine.workloadSeen(web(13, { revision: 3, rolledOut: false }), 'watch');
  expect([world.told, world.waits()]).toEqual([told, isLent ? ['ConfigMap/app'] : []]);
});

test('a template that a Rollout has borrowed rolls once for each release, and the way back may lead to older pods', () => {
  const world = running();
  world.engine.workloadSeen(borrower(4), 'watch');
  let version = 10;
  const release = (image: string, revision: number): void => {
    world.put(source(`with ${image} as ${revision}`, version));
    world.engine.workloadSeen(web(version + 1, { image, revision, rolledOut: false }), 'watch');
    world.engine.workloadSeen(web(version + 2, { image, revision, rolledOut: true }), 'watch');
    version += 10;
  };
  const releases = Array.from({ length: 12 }, (_, at) => at + 2);
  const waits = releases.flatMap((revision) => {
    release(`v${revision}`, revision);
    return world.waits();
  });
  expect(waits).toEqual([]);
  release('v10', 20);
  expect(world.waits()).toEqual(['ConfigMap/app']);
});

test('data that changed without changing the hash is not taken for delivered', () => {
  const world = running();
  world.put(source('B', 10));
  world.wrote('B', 11);
  world.put({ ...source('C', 12), fingerprint: { exact: 'C', mark: markOf('B') } });
  expect(world.waits()).toEqual(['ConfigMap/app']);
});

test('a record of another leader settles what we were waiting for', () => {
  const world = running();
  world.put(source('B', 10));
  const record = encodeRecord({ uid: 'w', seq: 1, key: 'k', template: '', sources: { 'ConfigMap/app': 'B' } });
  world.engine.workloadSeen(web(11, { annotations: { [RECORD]: record } }), 'watch');
  expect(world.waits()).toEqual([]);
});

test('what changed before our own write, and is heard of only later, is in its pods already', () => {
  const world = running();
  world.put(source('B', 10));
  world.wrote('B', 20);
  world.put(source('C', 15));
  expect(world.waits()).toEqual([]);
  world.put(source('D', 21));
  expect(world.waits()).toEqual(['ConfigMap/app']);
});

test('the same holds when the answer to our write was lost and only the watch tells of it', () => {
  const world = running();
  world.put(source('B', 10));
  const record = encodeRecord({ uid: 'w', seq: 1, key: 'k', template: '', sources: { 'ConfigMap/app': 'B' } });
  world.engine.workloadSeen(web(20, { annotations: { [RECORD]: record }, mark: 'B' }), 'watch');
  world.put(source('C', 15));
  expect(world.waits()).toEqual([]);
});
