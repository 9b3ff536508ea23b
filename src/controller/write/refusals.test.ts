import { expect, test } from 'vitest';
import { source, WEB, web, webObject } from '../../../test/support/engine-world.ts';
import { eventually } from '../../../test/support/eventually.ts';
import { virtualClock } from '../../../test/support/virtual-clock.ts';
import { writing } from '../../../test/support/writing-world.ts';
import { RETRY } from '../../api/annotations.ts';
import type { WorkloadKey } from '../../domain/workload/workload.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { KeyedQueue } from '../../runtime/queue.ts';
import type { UnderWay, Written } from './act.ts';

const ID = 'ConfigMap/app';
const MINUTE = 60_000;

/** An engine, hands and the queue between them; `take` is a worker, who finds a key that is due or nothing to do. */
async function refusing(parts: Parameters<typeof writing>[1] = {}) {
  const clock = virtualClock();
  const queue = new KeyedQueue<WorkloadKey>({ clock, random: () => 1 });
  const failed: string[] = [];
  const reloaded: string[][] = [];
  const world = await writing({ clock, queue }, { clock, queue, ...parts });
  world.report.tell = (outcome) => {
    if (outcome.is === 'failed' || outcome.is === 'refused') failed.push(outcome.error.split(' ').at(-1) ?? '');
    if (outcome.is === 'rolled') reloaded.push(outcome.changes.map(({ id }) => id));
  };
  const isDue = () => (queue.dueAt(WEB) ?? Number.POSITIVE_INFINITY) <= clock.now();
  const take = async (): Promise<void> => {
    expect(isDue()).toBe(true);
    const key = (await queue.take()) as WorkloadKey;
    await world.reconcile();
    queue.handled(key);
    queue.done(key);
  };
  /** A try, answered by the status. */
  const refused = async (status: number, reason = 'Refused'): Promise<void> => {
    const count = world.writes.length;
    const pass = take();
    await eventually(() => world.writes.length).toBe(count + 1);
    world.writes[count]?.status(status, reason);
    await pass;
  };
  const waitsMs = () => (queue.dueAt(WEB) ?? Number.NaN) - clock.now();
  return { ...world, clock, queue, failed, reloaded, isDue, take, refused, waitsMs };
}

async function refusedOnce(status: number) {
  const world = await refusing();
  world.put(source('B', 10));
  world.clock.advance(1000);
  await world.refused(status);
  return world;
}

test.each([400, 403, 413, 422])(
  '%i: the back-off grows up to some minutes, whatever the sources do',
  async (status) => {
    const world = await refusedOnce(status);
    const waits: number[] = [];
    for (let n = 0; n < 10; n += 1) {
      const waitMs = world.waitsMs();
      waits.push(waitMs);
      for (let version = 1; version <= 5; version += 1) {
        world.put(source(`C${n}-${version}`, 100 + 10 * n + version));
        expect(world.isDue()).toBe(false);
      }
      // The last change's quiet period has passed with it.
      world.clock.advance(Math.max(waitMs, 1000));
      await world.refused(status);
    }
    expect(waits.slice(0, 4)).toEqual([1000, 2000, 4000, 8000]);
    expect(waits.at(-1)).toBe(5 * MINUTE);
    expect(world.failed).toHaveLength(11);
  },
);

test('what the server cannot do is tried at least once a minute', async () => {
  const world = await refusedOnce(500);
  for (let n = 0; n < 10; n += 1) {
    world.clock.advance(world.waitsMs());
    await world.refused(500);
  }
  expect(world.waitsMs()).toBe(MINUTE);
});

test.each([
  ['a scale', { replicas: 3 }, false],
  ['an annotation of somebody else', { annotations: { 'some/thing': 'new' } }, false],
  ['an annotation that we read', { annotations: { 'attune.dev/max-wait': '20s' } }, true],
  ['a word to us', { annotations: { [RETRY]: 'please' } }, true],
])('%s after a refusal', async (_, look, triesAtOnce) => {
  const world = await refusedOnce(422);
  world.engine.workloadSeen(web(20, look), 'watch');
  world.engine.workloadSeen(web(21, look), 'watch');
  expect(world.isDue()).toBe(triesAtOnce);
  if (!triesAtOnce) return;
  await world.refused(422);
  expect(world.waitsMs()).toBe(1000);
});

test('a template that goes back to an old one is tried at once', async () => {
  const world = await refusedOnce(403);
  world.engine.workloadSeen(web(20, { image: 'v2' }), 'watch');
  expect(world.waits()).toEqual([]);
  world.engine.workloadSeen(web(21, { image: 'v1' }), 'watch');
  expect(world.waits()).toEqual([ID]);
  world.clock.advance(1000);
  expect(world.isDue()).toBe(true);
});

test('what was refused for what the workload was is tried for what it has become meanwhile', async () => {
  const world = await refusing();
  world.put(source('B', 10));
  world.clock.advance(1000);
  const pass = world.take();
  await eventually(() => world.writes.length).toBe(1);
  world.engine.workloadSeen(web(20, { annotations: { [RETRY]: 'now' } }), 'watch');
  world.writes[0]?.status(403, 'Forbidden');
  await eventually(() => world.writes.length).toBe(2);
  world.writes[1]?.json(200, webObject(21, { mark: 'B', annotations: { [RETRY]: 'now' } }));
  await pass;
  expect([world.waits(), world.failed]).toEqual([[], []]);
});

test.each([[0], [429], [502], [503], [504]])(
  '%i: a victim of an outage is tried when the server is back',
  async (status) => {
    const world = await refusing({
      act: async () => {
        throw new KubeError({ verb: 'patch', path: '/x', status, reason: 'Out', retryAfterMs: MINUTE });
      },
    });
    world.put(source('B', 10));
    world.clock.advance(1000);
    await world.take();
    expect(world.waitsMs()).toBe(MINUTE);
    world.queue.forgive(world.clock.now());
    expect(world.waitsMs()).toBe(1000);
  },
);

/** What has begun and goes on by itself, until the test ends it. */
async function underWay() {
  const [finished, late] = [Promise.withResolvers<Written>(), Promise.withResolvers<KubeError>()];
  const outcome: UnderWay = { finished: finished.promise, late: late.promise };
  let isUnderWay = false;
  const act = async () => {
    isUnderWay = true;
    return outcome;
  };
  const world = await refusing({ act, isUnderWay: () => isUnderWay });
  world.put(source('B', 10));
  world.clock.advance(1000);
  await world.take();
  const end = async (settle: () => void): Promise<void> => {
    isUnderWay = false;
    settle();
    await world.clock.run(0);
  };
  return { ...world, finished, late, end };
}

test('what goes on by itself holds nobody, and is settled when it is done and not before', async () => {
  const world = await underWay();
  expect([world.waits(), world.isDue(), world.reloaded]).toEqual([[ID], false, []]);
  world.put(source('C', 20));
  world.clock.advance(1000);
  await world.take();
  expect(world.reloaded).toEqual([]);
  await world.end(() => world.finished.resolve({ job: undefined, seq: 1, isRecorded: false }));
  expect(world.reloaded).toEqual([[ID]]);
  expect(world.state().applied.get(ID)).toBe('B');
  // What came meanwhile is looked at now.
  expect([world.waits(), world.isDue()]).toEqual([[ID], true]);
});

test('what takes long is told, and what fails after all is tried again', async () => {
  const error = (status: number, reason: string) => new KubeError({ verb: 'delete', path: '/x', status, reason });
  const world = await underWay();
  world.late.resolve(error(408, 'Timeout'));
  await world.clock.run(0);
  expect(world.failed).toEqual(['Timeout']);
  await world.end(() => world.finished.reject(error(403, 'Forbidden')));
  expect(world.failed).toEqual(['Timeout', 'Forbidden']);
  expect([world.waits(), world.waitsMs()]).toEqual([[ID], 1000]);

  const other = await underWay();
  await other.end(() => other.finished.reject(error(409, 'Conflict')));
  expect([other.failed, other.waitsMs()]).toEqual([[], 1000]);
});
