import { expect, test } from 'vitest';
import { policyOf } from '../../../test/conformance/given.ts';
import { APP, markOf, source, WEB, web, webObject } from '../../../test/support/engine-world.ts';
import { eventually } from '../../../test/support/eventually.ts';
import { writing } from '../../../test/support/writing-world.ts';
import { DEFAULT_KEYS, RECORD } from '../../api/annotations.ts';

const ID = 'ConfigMap/app';
const unread = (version: number) => ({ ...source('B', version), fingerprint: undefined });
const compat = policyOf({ compat: true });

test('what has to be read again before it can be written waits anew after the reading', async () => {
  const world = await writing();
  world.put(source('B', 10));
  // A listing after a broken watch: something was written, perhaps only a label.
  world.put(unread(12));
  await world.reconcile();
  expect(world.writes).toEqual([]);
  world.scheduled.clear();
  world.engine.sourceChanged(APP, world.sources.fill(source('B', 12)), 12);
  expect(world.waits()).toEqual([ID]);
  expect([...world.scheduled.keys()]).toEqual([WEB]);
});

test('what changes while the server is asked about the past is not settled with it', async () => {
  const [asking, asked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const world = await writing(
    {},
    {
      async isDelivered(_state, { current }) {
        asking.resolve();
        await asked.promise;
        return current === 'B';
      },
    },
  );
  world.put(source('B', 10));
  world.state().ran({ after: -1, upTo: 30 });
  const pass = world.reconcile();
  await asking.promise;
  world.put(source('C', 11));
  asked.resolve();
  await eventually(() => world.writes.length).toBe(1);
  expect(world.writes[0]?.body).toContain('c000');
  world.writes[0]?.json(200, webObject(20, { mark: 'C' }));
  await pass;
  expect(world.state().applied.get(ID)).toBe('C');
});

test('what went back while it was written is written back', async () => {
  const world = await writing({ policy: compat });
  world.put(source('B', 10));
  const pass = world.reconcile();
  await eventually(() => world.writes.length).toBe(1);
  world.put(source('A', 21));
  world.engine.workloadSeen(web(20, { mark: 'B' }), 'watch');
  world.writes[0]?.json(200, webObject(20, { mark: 'B' }));
  await pass;
  expect(world.waits()).toEqual([ID]);
});

test('a write that is undone before its answer comes is noticed', async () => {
  const world = await writing();
  world.report.tell = ({ is }) => void world.told.push(is);
  world.put(source('B', 10));
  const pass = world.reconcile();
  await eventually(() => world.writes.length).toBe(1);
  const annotations = { [RECORD]: JSON.parse(world.writes[0]?.body ?? '').metadata.annotations[RECORD] };
  world.engine.workloadSeen(web(20, { mark: 'B', annotations }), 'watch');
  world.engine.workloadSeen(web(21, { annotations }), 'watch');
  world.writes[0]?.json(200, webObject(20, { mark: 'B', annotations }));
  await pass;
  // In this order: the last word is the one that counts.
  expect(world.told).toEqual(['rolled', 'reverted']);
  expect(world.waits()).toEqual([ID]);
});

test('a mark that our own write puts another in place of was not taken by somebody else', async () => {
  const annotations = { [DEFAULT_KEYS.named.ConfigMap]: 'x.*' };
  const world = await writing();
  const [dash, dot] = [
    { ...APP, name: 'x-1' },
    { ...APP, name: 'x.1' },
  ];
  for (const ref of [dash, dot]) world.put(source('A', 5, ref), true);
  world.engine.workloadSeen(web(6, { annotations }), 'watch');
  for (const [at, ref, data] of [
    [0, dash, 'B'],
    [1, dot, 'C'],
  ] as const) {
    world.put(source(data, 10 + 10 * at, ref));
    const pass = world.reconcile();
    await eventually(() => world.writes.length).toBe(at + 1);
    const object = webObject(11 + 10 * at, { annotations });
    object.spec.template.spec.containers[0]?.env.push({ name: 'STAKATER_X_1_CONFIGMAP', value: markOf(data) });
    world.writes[at]?.json(200, object);
    await pass;
  }
  expect(world.told).toEqual([]);
  expect(world.waits()).toEqual([]);
});

test('what is not due yet is not written, and comes again when it is', async () => {
  const times: number[] = [];
  const queue = { schedule: (_: unknown, at: number) => void times.push(at), retry: () => 0 };
  const world = await writing({}, { timing: { quietPeriodMs: 1000, maxWaitMs: 10_000 }, queue });
  world.put(source('B', 10));
  await world.reconcile();
  expect([world.writes.length, times, world.waits()]).toEqual([0, [1000], [ID]]);
});
