import { expect, test } from 'vitest';
import { virtualClock } from '../../test/support/virtual-clock.ts';
import { DEFAULT_KEYS, RECORD } from '../api/annotations.ts';
import { kindNamed, type WorkloadKind } from '../api/kinds.ts';
import type { SourceRef } from '../api/sources.ts';
import { encodeRecord } from '../domain/ledger.ts';
import { parseWorkload } from '../domain/parse-workload.ts';
import type { Source } from '../domain/source.ts';
import type { Workload, WorkloadKey } from '../domain/workload.ts';
import { Engine } from './engine.ts';
import type { CheckpointEntry, EngineDeps } from './engine-deps.ts';
import { Graph } from './graph.ts';
import { SourceBook } from './source-book.ts';

const DEPLOYMENT = kindNamed('Deployment') as WorkloadKind;
const WEB: WorkloadKey = 'Deployment/shop/web';
const APP: SourceRef = { kind: 'ConfigMap', namespace: 'shop', name: 'app' };

const markOf = (data: string): string => data.toLowerCase().padEnd(40, '0');

const source = (data: string, version: number, ref = APP): Source => ({
  ref,
  resourceVersion: String(version),
  fingerprint: { exact: data, mark: markOf(data) },
  ignored: false,
  matchable: false,
});

interface Look {
  readonly uid?: string;
  readonly annotations?: Record<string, string>;
  readonly image?: string;
  readonly mark?: string;
}

function web(version: number, { uid = 'w', annotations = {}, image = 'v1', mark }: Look = {}): Workload {
  const env = mark ? [{ name: 'STAKATER_APP_CONFIGMAP', value: markOf(mark) }] : [];
  const object = {
    metadata: {
      name: 'web',
      namespace: 'shop',
      uid,
      resourceVersion: String(version),
      creationTimestamp: '2026-01-01T10:00:05Z',
      annotations: { 'reloader.stakater.com/auto': 'true', ...annotations },
    },
    spec: {
      template: { spec: { containers: [{ name: 'app', image, env, envFrom: [{ configMapRef: { name: 'app' } }] }] } },
    },
  };
  return parseWorkload(DEPLOYMENT, object, { keys: DEFAULT_KEYS, compat: false, digest: (text) => text });
}

interface Options {
  readonly entry?: CheckpointEntry;
  readonly aliveAt?: number;
  readonly create?: boolean;
  readonly remove?: boolean;
}

function setUp(options: Partial<EngineDeps> & Options = {}) {
  const clock = virtualClock();
  const scheduled = new Map<WorkloadKey, number>();
  const wanted: SourceRef[] = [];
  const told: string[] = [];
  const sources = new SourceBook();
  const engine = new Engine({
    policy: { compat: false, autoReloadAll: false, ignoredKinds: new Set(), keys: DEFAULT_KEYS },
    lifecycle: { compat: false, reloadOnCreate: options.create ?? false, reloadOnDelete: options.remove ?? false },
    timing: { quietPeriodMs: 1000, maxWaitMs: 10_000 },
    strategy: 'env-vars',
    keyId: 'k',
    clock,
    sources,
    graph: new Graph(),
    queue: {
      add: (key) => void scheduled.set(key, clock.now()),
      schedule: (key, at) => void scheduled.set(key, at),
      remove: (key) => void scheduled.delete(key),
    },
    checkpoint: {
      believable: options.entry !== undefined || options.aliveAt !== undefined,
      aliveAt: options.aliveAt ?? 0,
      entry: () => options.entry,
      touch: () => {},
    },
    sharedVersions: () => true,
    inScope: () => true,
    want: (ref) => void wanted.push(ref),
    report: {
      sourceChanged: () => {},
      settledByOther: () => void told.push('settled by other'),
      reverted: (_state, _ref, again) => void told.push(again ? 'reverted' : 'undelivered'),
      problems: () => {},
      queued: () => {},
    },
    ...options,
  });
  const state = () => {
    const found = engine.states.get(WEB);
    if (!found) throw new Error('the workload is not known');
    return found;
  };
  return {
    clock,
    engine,
    sources,
    scheduled,
    wanted,
    told,
    state,
    waits: () => [...state().waiting.keys()],
    put: (next: Source, born = false) =>
      engine.sourceTurned(next.ref, sources.put(next, born), Number(next.resourceVersion)),
    remove: (ref: SourceRef, version: number) => engine.sourceTurned(ref, sources.remove(ref, version), version),
    /** As if reconcile had written: the marks are on the template, the ledger knows. */
    wrote(data: string, version: number, look: Look = {}) {
      state().applied.set('ConfigMap/app', data);
      state().waiting.clear();
      state().wrote.set('ConfigMap/app', markOf(data));
      engine.workloadSeen(web(version, { ...look, mark: data }), 'write');
    },
  };
}

/** A workload and its source, listed, nothing changed. */
function running(options: Parameters<typeof setUp>[0] = {}) {
  const world = setUp(options);
  world.sources.put(source('A', 5), false);
  world.engine.workloadSeen(web(3), 'list');
  world.engine.begin();
  return world;
}

test('a first start rolls nothing', () => {
  expect(running().waits()).toEqual([]);
});

test('a change waits for its quiet period, and each further one moves the end', () => {
  const world = running();
  world.put(source('B', 10));
  expect(world.scheduled.get(WEB)).toBe(1000);
  world.clock.advance(600);
  world.put(source('C', 11));
  expect(world.scheduled.get(WEB)).toBe(1600);
});

test('the wait has an end', () => {
  const world = running();
  for (let n = 0; n < 19; n += 1) {
    world.put(source(`B${n}`, 10 + n));
    world.clock.advance(500);
  }
  expect(world.scheduled.get(WEB)).toBe(10_000);
});

test('going back within the quiet period is no change', () => {
  const world = running();
  world.put(source('B', 10));
  world.put(source('A', 11));
  expect(world.waits()).toEqual([]);
});

test('metadata alone never rolls', () => {
  const world = running();
  world.put(source('A', 10));
  expect(world.scheduled.size).toBe(0);
});

test('a workload created before the change rolls, in whichever order the two arrive', () => {
  const changeFirst = setUp();
  changeFirst.sources.put(source('A', 5), false);
  changeFirst.engine.begin();
  changeFirst.put(source('B', 101));
  changeFirst.engine.workloadSeen(web(100), 'watch');
  expect(changeFirst.waits()).toEqual(['ConfigMap/app']);

  const workloadFirst = setUp();
  workloadFirst.sources.put(source('A', 5), false);
  workloadFirst.engine.begin();
  workloadFirst.engine.workloadSeen(web(100), 'watch');
  workloadFirst.put(source('B', 101));
  expect(workloadFirst.waits()).toEqual(['ConfigMap/app']);
});

test('a workload created after the change does not roll, in whichever order the two arrive', () => {
  const changeFirst = setUp();
  changeFirst.sources.put(source('A', 5), false);
  changeFirst.engine.begin();
  changeFirst.put(source('B', 100));
  changeFirst.engine.workloadSeen(web(101), 'watch');
  expect(changeFirst.waits()).toEqual([]);

  const workloadFirst = setUp();
  workloadFirst.sources.put(source('A', 5), false);
  workloadFirst.engine.begin();
  workloadFirst.engine.workloadSeen(web(101), 'watch');
  workloadFirst.put(source('B', 100));
  expect(workloadFirst.waits()).toEqual([]);
});

test('a workload that begins to use a source nobody had read does not roll for it', () => {
  const world = setUp();
  world.sources.put({ ...source('A', 5), fingerprint: undefined }, false);
  world.engine.begin();
  world.engine.workloadSeen(web(100), 'watch');
  expect(world.wanted).toEqual([APP]);
  world.engine.sourceTurned(APP, world.sources.fill(source('A', 5)), 5);
  expect(world.waits()).toEqual([]);
  world.put(source('B', 120));
  expect(world.waits()).toEqual(['ConfigMap/app']);
});

test('a version newer than the listed one, read without a record, counts as changed', () => {
  const world = setUp();
  world.sources.put({ ...source('A', 5), fingerprint: undefined }, false);
  world.engine.workloadSeen(web(3), 'list');
  world.sources.fill(source('B', 7));
  world.engine.begin();
  expect(world.waits()).toEqual(['ConfigMap/app']);
});

test('deleting and creating anew with other data is a change, with the same data it is none', () => {
  const world = running();
  world.remove(APP, 10);
  expect(world.waits()).toEqual([]);
  world.put(source('A', 11), true);
  expect(world.waits()).toEqual([]);
  world.remove(APP, 12);
  world.put(source('B', 13), true);
  expect(world.waits()).toEqual(['ConfigMap/app']);
});

test.each([
  ['created', { create: true }, true],
  ['created', {}, false],
] as const)('a source %s later, with %j', (_what, flags, rolls) => {
  const world = setUp(flags);
  world.engine.workloadSeen(web(3), 'list');
  world.engine.begin();
  world.put(source('A', 10), true);
  expect(world.waits().length > 0).toBe(rolls);
});

test('a deletion rolls only with reload-on-delete, once', () => {
  const world = running({ remove: true });
  world.remove(APP, 10);
  expect(world.waits()).toEqual(['ConfigMap/app']);
});

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

test('a mark that equals the current data settles, whoever wrote it', () => {
  const world = setUp({ entry: { seq: 0, applied: { 'ConfigMap/app': 'A' } } });
  world.sources.put(source('B', 9), false);
  world.engine.workloadSeen(web(3, { mark: 'B' }), 'list');
  world.engine.begin();
  expect(world.waits()).toEqual([]);
});

test('a new template after the change brings it already; before the change it does not', () => {
  const after = running();
  after.put(source('B', 10));
  after.engine.workloadSeen(web(11, { image: 'v2' }), 'watch');
  expect(after.waits()).toEqual([]);
  expect(after.told).toEqual(['settled by other']);

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
  expect(world.state().undelivered.size).toBe(1);
  world.put(source('C', 15));
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

test('an unreadable annotation holds a change back, and mending it lets it go', () => {
  const world = setUp();
  const broken = { [DEFAULT_KEYS.pausePeriod]: 'soon' };
  world.sources.put(source('A', 5), false);
  world.engine.workloadSeen(web(3, { annotations: broken }), 'list');
  world.engine.begin();
  world.put(source('B', 10));
  world.state().held = true;
  world.scheduled.clear();
  world.engine.workloadSeen(web(11), 'watch');
  expect(world.waits()).toEqual(['ConfigMap/app']);
  expect(world.scheduled.has(WEB)).toBe(true);
});

test('opting in counts from then on', () => {
  const world = setUp();
  world.sources.put(source('A', 5), false);
  world.engine.workloadSeen(web(3, { annotations: { 'reloader.stakater.com/auto': 'false' } }), 'list');
  world.engine.begin();
  world.put(source('B', 10));
  world.engine.workloadSeen(web(11), 'watch');
  expect(world.waits()).toEqual([]);
});

test('a first start rolls nothing for a source that could be read only later', () => {
  const world = setUp();
  world.sources.put({ ...source('A', 5), fingerprint: undefined }, false);
  world.engine.workloadSeen(web(3), 'list');
  world.engine.begin();
  expect(world.wanted).toEqual([APP]);
  world.engine.sourceTurned(APP, world.sources.fill(source('A', 5)), 5);
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
  expect(world.state().unplaced).toMatchObject({ record: { seq: 1 }, job: undefined, before: 30 });
  world.engine.workloadSeen(web(31, { annotations: { [RECORD]: recorded('A') }, image: 'v2' }), 'watch');
  expect(world.state().unplaced).toBeUndefined();
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
