import { expect, test } from 'vitest';
import { policyOf } from '../../../test/conformance/given.ts';
import { APP, markOf, running, setUp, source, WEB, web } from '../../../test/support/engine-world.ts';
import { DEFAULT_KEYS, LAST_RELOADED_FROM } from '../../api/annotations.ts';
import { ExpressionBudget } from '../../domain/asks/expression-budget.ts';
import { NameBudget } from '../../domain/asks/name-budget.ts';

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
  world.engine.sourceChanged(APP, world.sources.fill(source('A', 5)), 5);
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

test.each([
  ['annotations', ['ConfigMap/app']],
  ['env-vars', []],
] as const)('Stakater: created anew with the data of the mark, %s', (strategy, waits) => {
  const policy = policyOf({ compat: true, reloadStrategy: strategy });
  const lifecycle = { compat: true, reloadOnCreate: true, reloadOnDelete: false };
  const world = running({ policy, lifecycle });
  const from = { type: 'CONFIGMAP', name: 'app', namespace: 'shop', hash: markOf('B'), containerRefs: ['app'] };
  const text = JSON.stringify({ ...from, observedAt: 1 });
  world.put(source('B', 10));
  world.wrote('B', 11, { templateAnnotations: { [LAST_RELOADED_FROM]: text } });
  world.remove(APP, 12);
  world.put(source('B', 13), true);
  expect(world.waits()).toEqual(waits);
});

test('a deletion rolls only with reload-on-delete, once', () => {
  const world = running({ remove: true });
  world.remove(APP, 10);
  expect(world.waits()).toEqual(['ConfigMap/app']);
});

test('an unreadable annotation holds a change back, and mending it lets it go', () => {
  const world = setUp();
  const broken = { [DEFAULT_KEYS.pausePeriod]: 'soon' };
  world.sources.put(source('A', 5), false);
  world.engine.workloadSeen(web(3, { annotations: broken }), 'list');
  world.engine.begin();
  world.put(source('B', 10));
  world.state().block();
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
  world.engine.sourceChanged(APP, world.sources.fill(source('A', 5)), 5);
  expect(world.waits()).toEqual([]);
});

test('the answer to a write that comes after the deletion brings nobody back', () => {
  const world = running();
  world.engine.workloadGone(WEB);
  world.engine.workloadSeen(web(10, { mark: 'B' }), 'write');
  expect(world.engine.states.size).toBe(0);
  world.engine.workloadSeen(web(12, { uid: 'x' }), 'watch');
  world.engine.workloadSeen(web(10, { mark: 'B' }), 'write');
  expect(world.state().workload.uid).toBe('x');
});

test('a namespace that is heard of after all that is in it: each workload began with what there was at its own time', () => {
  let isSelected = false;
  const world = setUp({ inScope: () => isSelected, create: true });
  world.engine.begin();
  world.put(source('A', 103), true);
  world.engine.workloadSeen(web(105), 'watch');
  isSelected = true;
  world.engine.namespaceChanged('shop', 101);
  expect(world.waits()).toEqual([]);
  isSelected = false;
  world.put(source('B', 107));
  isSelected = true;
  world.state().forget('ConfigMap/app');
  world.engine.namespaceChanged('shop', 101);
  expect(world.waits()).toEqual(['ConfigMap/app']);
});

test('a scale says nothing about the age of pods', () => {
  let isSelected = false;
  const world = running({ inScope: () => isSelected });
  world.put(source('B', 105));
  world.engine.workloadSeen(web(110, { replicas: 5 }), 'watch');
  isSelected = true;
  world.engine.namespaceChanged('shop', 100);
  expect(world.waits()).toEqual(['ConfigMap/app']);
});

test('who is out of scope is not told what is wrong with it', () => {
  const told: string[] = [];
  let isSelected = false;
  const world = running({
    inScope: () => isSelected,
    report: {
      sourceChanged: () => {},
      tell: ({ is, workload }) => void told.push(`${is} ${workload.ref.name}`),
      forget: () => {},
      queued: () => {},
    },
  });
  world.engine.workloadSeen(web(9, { annotations: { [DEFAULT_KEYS.pausePeriod]: 'x' } }), 'watch');
  expect(told).toEqual([]);
  isSelected = true;
  world.engine.namespaceChanged('shop', 10);
  expect(told).toEqual(['invalid web']);
});

test('an expression for which its namespace has no room is told on its workload', () => {
  const told = (size: number): readonly string[] => {
    const expressions = new ExpressionBudget();
    const other = { text: 'x', expression: 'search x', literal: undefined, size, matches: () => false };
    expressions.hold('shop', 'another workload', [other]);
    const world = setUp({ configs: { asksFor: () => [], askedFrom: () => 0, expressions, names: new NameBudget() } });
    world.engine.workloadSeen(web(6, { annotations: { [DEFAULT_KEYS.named.ConfigMap]: 'app-.*' } }), 'list');
    world.engine.begin();
    return world.told;
  };
  expect(told(1000)).toEqual([]);
  expect(told(262_144)).toEqual(['invalid']);
});
