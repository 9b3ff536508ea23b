import { expect, test } from 'vitest';
import { policyOf } from '../../../test/conformance/given.ts';
import { APP, type Look, running, setUp, source, web } from '../../../test/support/engine-world.ts';
import { CONFIG_HASH, DEFAULT_KEYS, RECORD, SAP_LISTS } from '../../api/annotations.ts';
import { encodeRecord } from '../../domain/ledger/record.ts';
import { shortDigest } from '../../domain/state/recent-templates.ts';
import type { CheckpointEntry } from '../../model/ledger/shard.ts';

test('what changed while nobody was there is caught up from the checkpoint', () => {
  const world = setUp({ entry: { seq: 0, applied: { 'ConfigMap/app': 'A' } } });
  world.sources.put(source('B', 9), false);
  world.engine.workloadSeen(web(3), 'list');
  world.engine.begin();
  expect(world.waits()).toEqual(['ConfigMap/app']);
});

test('a record that is newer than the checkpoint wins, one of another object says nothing', () => {
  const record = { seq: 4, key: 'k', template: '', sources: { 'ConfigMap/app': 'B' } } as const;
  const entry = { seq: 3, applied: { 'ConfigMap/app': 'A' } };
  for (const [uid, waits] of [
    ['w', []],
    ['copied', ['ConfigMap/app']],
  ] as const) {
    const world = setUp({ entry });
    world.sources.put(source('B', 9), false);
    world.engine.workloadSeen(web(3, { annotations: { [RECORD]: encodeRecord({ ...record, uid }) } }), 'list');
    world.engine.begin();
    expect(world.waits()).toEqual(waits);
  }
});

test('without a checkpoint even a record is not believed: better nothing than a mass restart', () => {
  const record = encodeRecord({ uid: 'w', seq: 4, key: 'k', template: '', sources: { 'ConfigMap/app': 'A' } });
  const world = setUp();
  world.sources.put(source('B', 9), false);
  world.engine.workloadSeen(web(3, { annotations: { [RECORD]: record } }), 'list');
  world.engine.begin();
  expect(world.waits()).toEqual([]);
});

test('a record of an earlier version says nothing, nor does its config hash: what runs counts as current', () => {
  const record = { v: 1, uid: 'w', seq: 9, key: 'k', template: '', sources: { 'ConfigMap/app': 'A' }, seen: 5 };
  const look = {
    annotations: { [RECORD]: JSON.stringify(record), [SAP_LISTS.ConfigMap]: 'app' },
    templateAnnotations: { [CONFIG_HASH]: '0f'.repeat(32) },
  };
  for (const options of [{}, { entry: { seq: 0, applied: { 'ConfigMap/app': 'B' } } }]) {
    const world = setUp(options);
    world.sources.put(source('B', 9), false);
    world.engine.workloadSeen(web(3, look), 'list');
    world.engine.begin();
    expect(world.waits()).toEqual([]);
    // The next change is one.
    world.put(source('C', 12));
    expect(world.waits()).toEqual(['ConfigMap/app']);
  }
});

test.each([
  ['settles under compat, as upstream', true, []],
  ['proves nothing: other data may have been there since', false, ['ConfigMap/app']],
] as const)('a mark that equals the current data %s', (_what, compat, waits) => {
  const policy = policyOf({ compat });
  const world = setUp({ entry: { seq: 0, applied: { 'ConfigMap/app': 'A' } }, policy });
  world.sources.put(source('B', 9), false);
  world.engine.workloadSeen(web(3, { mark: 'B' }), 'list');
  world.engine.begin();
  expect(world.waits()).toEqual(waits);
});

const left = {
  seq: 0,
  applied: { 'ConfigMap/app': 'A' },
  looks: [[shortDigest(web(3).fullTemplateDigest), 0]],
  revision: 'r1',
  seen: { ConfigMap: 7 },
};

test.each([
  ['neither was written', {}, 5, []],
  ['only the source was written', {}, 9, []],
  ['only the template was written', { look: { revision: 2, image: 'v2' } }, 5, []],
  ['both were written', { look: { revision: 2, image: 'v2' } }, 9, ['ConfigMap/app']],
  ['both were written, and nobody has counted the template yet', { look: { image: 'v2' } }, 9, ['ConfigMap/app']],
  ['the source was written while pods were being replaced', { entry: { coming: true } }, 9, ['ConfigMap/app']],
  [
    'more sources than the ledger could hold, and this one was written',
    { entry: { applied: {}, partial: true } },
    9,
    ['ConfigMap/app'],
  ],
  [
    'more sources than the ledger could hold, and this one was not written',
    { entry: { applied: {}, partial: true } },
    5,
    [],
  ],
  [
    'more sources that waited than the ledger could hold',
    { entry: { applied: {}, partial: true, seen: { ConfigMap: 0 } } },
    5,
    ['ConfigMap/app'],
  ],
] as const)('data as it was at the end, and since then %s', (_what, given, version, waits) => {
  const { look = {}, entry = {} } = given as { look?: Look; entry?: Partial<CheckpointEntry> };
  const world = setUp({ entry: { ...(left as unknown as CheckpointEntry), ...entry } });
  world.sources.put(source('A', version), false);
  world.engine.workloadSeen(web(30, look), 'list');
  world.engine.begin();
  expect(world.waits()).toEqual(waits);
});

test.each([
  ['was overtaken by a change while nobody was there rolls', '2026-01-01T10:00:06Z', true],
  ['is younger than the change does not roll', '2026-01-01T10:00:04Z', false],
  ['was changed for when somebody was there does not roll', '2026-01-01T09:00:00Z', false],
  ['uses a source that never changed does not roll', undefined, false],
] as const)('a workload unknown to the ledger that %s', (_what, editedAt, rolls) => {
  const world = setUp({ aliveAt: Date.parse('2026-01-01T10:00:05Z') });
  world.sources.put({ ...source('B', 9), editedAt }, false);
  world.engine.workloadSeen(web(3), 'list');
  world.engine.begin();
  expect(world.waits().length > 0).toBe(rolls);
});

test.each([
  ['was heard of', 9, []],
  ['came when nobody could hear of it any more, however long somebody was there', 8, ['ConfigMap/app']],
] as const)('a workload unknown to the ledger, and a change after its creation that %s', (_what, seen, waits) => {
  const world = setUp({ aliveAt: Date.parse('2026-01-01T11:00:00Z'), seen: { ConfigMap: seen } });
  world.sources.put({ ...source('B', 9), editedAt: '2026-01-01T10:00:06Z' }, false);
  world.engine.workloadSeen(web(3), 'list');
  world.engine.begin();
  expect(world.waits()).toEqual(waits);
});

test.each([
  ['before the rollout that its record tells of is in its pods', 9, []],
  ['after it is caught up', 11, ['ConfigMap/app']],
] as const)('what changed %s', (_what, version, waits) => {
  const sources = { 'ConfigMap/app': 'A' } as const;
  const record = encodeRecord({ uid: 'w', seq: 4, key: 'k', template: '', sources, seen: 10 });
  const world = setUp({ entry: { seq: 3, applied: { 'ConfigMap/app': 'A' } } });
  world.sources.put(source('B', version), false);
  world.engine.workloadSeen(web(30, { annotations: { [RECORD]: record } }), 'list');
  world.engine.begin();
  expect(world.waits()).toEqual(waits);
});

const recorded = (data: string) =>
  encodeRecord({ uid: 'w', seq: 1, key: 'k', template: '', sources: { 'ConfigMap/app': data }, at: 1 });

test.each([
  ['a template by another hand', { image: 'v2' }],
  ['our own write, whose answer was lost', { annotations: { [RECORD]: recorded('A') }, mark: 'A' }],
] as const)('%s that a listing shows proves nothing about a change in the gap', (_what, look) => {
  const world = running();
  world.put(source('B', 10));
  world.engine.workloadSeen(web(12, look), 'list');
  expect(world.waits()).toEqual(['ConfigMap/app']);
});

test('a record that was found leaves the question when it was written', () => {
  const world = setUp({ entry: { seq: 0, applied: { 'ConfigMap/app': 'A' } } });
  world.sources.put(source('B', 9), false);
  world.engine.workloadSeen(web(30, { annotations: { [RECORD]: recorded('A') } }), 'list');
  world.engine.begin();
  expect(world.state().templateTime).toEqual({ after: -1, upTo: 30 });
  world.engine.workloadSeen(web(31, { annotations: { [RECORD]: recorded('A') }, image: 'v2' }), 'watch');
  expect(world.state().templateTime).toEqual({ after: 31, upTo: 31 });
});

test.each([
  ['before the gap ended', 0, ['ConfigMap/app']],
  ['when the listing before had shown it without', 10, []],
] as const)('a workload found to use a source that changed in between: %s', (_what, told, waits) => {
  const world = setUp();
  world.sources.put(source('A', 5), false);
  world.engine.workloadSeen(web(3, { annotations: { 'reloader.stakater.com/auto': 'false' } }), 'list');
  world.engine.begin();
  world.put(source('B', 10));
  world.engine.workloadSeen(web(11), 'list', told);
  expect(world.waits()).toEqual(waits);
});

test('a source that a pattern names, gone at the start and back with other data, has changed', () => {
  const named = { [DEFAULT_KEYS.named.ConfigMap]: 'cfg-.*' };
  const ref = { ...APP, name: 'cfg-1' };
  const world = setUp({ entry: { seq: 0, applied: { 'ConfigMap/cfg-1': 'A' } } });
  world.engine.workloadSeen(web(3, { annotations: named }), 'list');
  world.engine.begin();
  expect(world.state().applied.get('ConfigMap/cfg-1')).toBe('A');
  world.put(source('B', 10, ref), true);
  expect(world.waits()).toEqual(['ConfigMap/cfg-1']);
});

test('a kind that is listed long after the start is judged by what the past says, not by what there is', () => {
  const world = setUp({ entry: { seq: 0, applied: { 'ConfigMap/app': 'A' } } });
  world.sources.put(source('B', 9), false);
  world.engine.begin();
  world.engine.workloadSeen(web(3), 'list');
  expect(world.waits()).toEqual(['ConfigMap/app']);
});

test('a kind of sources that cannot be listed is not absent; when it can, what the past says about it holds', () => {
  let isListed = false;
  const world = setUp({
    entry: { seq: 0, applied: { 'ConfigMap/app': 'A' } },
    listed: { has: () => isListed, places: 0 },
    create: true,
    remove: true,
  });
  world.engine.workloadSeen(web(3), 'list');
  world.engine.begin();
  expect(world.waits()).toEqual([]);
  world.put({ ...source('B', 9), fingerprint: undefined });
  isListed = true;
  expect(world.waits()).toEqual([]);
  world.engine.sourceChanged(APP, world.sources.fill(source('B', 9)), 9);
  expect(world.waits()).toEqual(['ConfigMap/app']);
});

test.each([
  ['after its creation', '2026-01-01T10:00:30Z', ['ConfigMap/app']],
  ['before it', '2026-01-01T10:00:01Z', []],
])('a workload that only a listing shows, and a change that we saw %s', (_when, editedAt, waits) => {
  const world = setUp();
  world.sources.put({ ...source('A', 5), fingerprint: undefined }, false);
  world.engine.begin();
  world.put({ ...source('B', 20), editedAt });
  // Its status was written since: the version says nothing about its age.
  world.engine.workloadSeen(web(25), 'list');
  expect(world.waits()).toEqual(waits);
});

test('a workload that only a listing shows, and a source edited in the second in which both were created', () => {
  const bornAt = web(25).createdAt;
  for (const isReadLater of [false, true]) {
    const world = setUp();
    world.sources.put({ ...source('A', 5), bornAt, ...(isReadLater && { fingerprint: undefined }) }, false);
    world.engine.begin();
    world.put({ ...source('B', 20), bornAt });
    world.engine.workloadSeen(web(25), 'list');
    expect(world.waits()).toEqual(['ConfigMap/app']);
  }
});

test.each([
  ['before the ledger was written: it was edited since', '2026-01-01T10:00:05Z', 8, ['ConfigMap/app']],
  ['before the ledger was written, and heard of', '2026-01-01T10:00:05Z', 9, []],
  ['shortly before, by somebody who heard nothing of its kind', '2026-01-01T10:00:05Z', undefined, ['ConfigMap/app']],
  ['after it', '2026-01-01T10:00:07Z', 8, []],
])('a workload unknown to the ledger, and a source made in the same second or later, %s', (_, bornAt, heard, waits) => {
  const aliveAt = Date.parse('2026-01-01T10:00:06Z');
  const world = setUp({ aliveAt, ...(heard && { seen: { ConfigMap: heard } }) });
  world.sources.put({ ...source('B', 9), bornAt }, false);
  world.engine.workloadSeen(web(3), 'list');
  world.engine.begin();
  expect(world.waits()).toEqual(waits);
});

test('a workload that only a listing shows does not roll for data that was there before us, whatever else moved', () => {
  const world = setUp({ serverNow: () => Date.parse('2026-06-01T00:00:00Z') });
  world.sources.put({ ...source('A', 5), fingerprint: undefined }, false);
  world.engine.begin();
  // A label, in our time; the data is of January.
  world.put({ ...source('A', 20), editedAt: '2026-01-02T00:00:00Z' });
  world.engine.workloadSeen(web(25), 'list');
  expect(world.waits()).toEqual([]);
});

test('deleted and created anew after a workload that only a listing shows', () => {
  const world = setUp();
  world.sources.put(source('A', 5), false);
  world.engine.begin();
  world.remove(APP, 10);
  world.put({ ...source('B', 20), bornAt: '2026-01-01T10:00:30Z' }, true);
  world.engine.workloadSeen(web(25), 'list');
  expect(world.waits()).toEqual(['ConfigMap/app']);
});

test('both found by listings, the source first: what is read afterwards was written after the workload', () => {
  const world = setUp();
  world.sources.put({ ...source('A', 5), fingerprint: undefined }, false);
  world.engine.begin();
  world.put({ ...source('B', 20), fingerprint: undefined });
  world.engine.workloadSeen(web(25), 'list');
  const read = { ...source('B', 20), editedAt: '2026-01-01T10:00:30Z' };
  world.engine.sourceChanged(APP, world.sources.fill(read), 20);
  expect(world.waits()).toEqual(['ConfigMap/app']);
});

test.each([
  ['in our time, may have been other data when the workload began', '2026-01-01T10:00:00Z', ['ConfigMap/app']],
  ['long before us, is no reason to roll', '2026-01-02T00:00:00Z', []],
] as const)('a source first listed after a workload was found, edited %s', (_what, now, waits) => {
  for (const isReadLater of [false, true]) {
    const world = setUp({ serverNow: () => Date.parse(now) });
    const edited = { ...source('B', 20), editedAt: '2026-01-01T10:00:30Z' };
    world.sources.put(isReadLater ? { ...edited, fingerprint: undefined } : edited, false);
    world.engine.begin();
    world.engine.workloadSeen(web(18), 'list', 10);
    if (isReadLater) world.engine.sourceChanged(APP, world.sources.fill(edited), 20);
    expect(world.waits()).toEqual(waits);
  }
});

test('what was there before a listing that did not show the workload is older than the workload', () => {
  const world = setUp();
  world.sources.put(source('A', 5), false);
  world.engine.begin();
  world.put({ ...source('B', 20), editedAt: '2026-01-01T10:00:05Z' });
  world.engine.workloadSeen(web(25), 'list', 22);
  expect(world.waits()).toEqual([]);
});

test('created with its workload in one second, or after it: no change, and created only where that counts', () => {
  const world = setUp({ create: true });
  world.engine.begin();
  world.put({ ...source('A', 20), bornAt: '2026-01-01T10:00:05Z' }, true);
  world.engine.workloadSeen(web(25), 'list');
  expect(world.waits()).toEqual([]);
  const later = setUp();
  later.engine.begin();
  later.put({ ...source('A', 20), bornAt: '2026-01-01T10:00:09Z' }, true);
  later.engine.workloadSeen(web(25), 'list');
  expect(later.waits()).toEqual([]);
});
