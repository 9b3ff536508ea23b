import { expect, test } from 'vitest';
import { eventually } from '../../test/support/eventually.ts';
import { virtualClock } from '../../test/support/virtual-clock.ts';
import { KeyedQueue } from './queue.ts';
import { runWorkers } from './worker.ts';

const clock = virtualClock();
const endless = new AbortController().signal;
const newQueue = () => new KeyedQueue<string>({ clock, random: () => 1 });

test('as many keys are in hand as there are workers', async () => {
  const queue = newQueue();
  const stop = new AbortController();
  const gate = Promise.withResolvers<void>();
  const begun: string[] = [];
  for (const key of ['a', 'b', 'c', 'd']) queue.add(key);
  const running = runWorkers(
    queue,
    {
      clock,
      workers: 3,
      async handle(key) {
        begun.push(key);
        await gate.promise;
      },
      failed: () => {},
    },
    stop.signal,
  );
  await eventually(() => begun).toEqual(['a', 'b', 'c']);
  gate.resolve();
  await eventually(() => begun).toEqual(['a', 'b', 'c', 'd']);
  stop.abort();
  await running;
});

test('a failure goes to the hook, and the other keys go on', async () => {
  const queue = newQueue();
  const failures: [string, unknown][] = [];
  const handled: string[] = [];
  for (const key of ['bad', 'good']) queue.add(key);
  const error = new Error('no');
  void runWorkers(
    queue,
    {
      clock,
      workers: 1,
      async handle(key) {
        if (key === 'bad') throw error;
        handled.push(key);
      },
      failed: (key, cause) => failures.push([key, cause]),
    },
    endless,
  );
  await eventually(() => handled).toEqual(['good']);
  expect(failures).toEqual([['bad', error]]);
});

test('a success makes earlier failures forgotten', async () => {
  const queue = newQueue();
  queue.retry('a');
  clock.advance(1000);
  void runWorkers(queue, { clock, workers: 1, handle: async () => {}, failed: () => {} }, endless);
  await clock.run(0);
  expect(queue.release('a')).toBe(false);
  expect(queue.retry('a') - clock.now()).toBe(1000);
});

test('told to stop, the workers end when their hands are empty, and leave the rest to the next', async () => {
  const queue = newQueue();
  const stop = new AbortController();
  const gate = Promise.withResolvers<void>();
  const finished: string[] = [];
  queue.add('a');
  const running = runWorkers(
    queue,
    {
      clock,
      workers: 1,
      async handle(key) {
        await gate.promise;
        finished.push(key);
      },
      failed: () => {},
    },
    stop.signal,
  );
  await Promise.resolve();
  queue.add('b');
  stop.abort();
  gate.resolve();
  await running;
  expect(finished).toEqual(['a']);
  expect(await queue.take()).toBe('b');
});

test('who asks for another try has not succeeded: the next wait is longer', async () => {
  const queue = newQueue();
  const waits: number[] = [];
  queue.add('a');
  const stop = new AbortController();
  const running = runWorkers(
    queue,
    {
      clock,
      workers: 1,
      async handle(key) {
        waits.push(queue.retry(key) - clock.now());
      },
      failed: () => {},
    },
    stop.signal,
  );
  for (let n = 1; n <= 3; n += 1) {
    await eventually(() => waits.length).toBe(n);
    await clock.run(waits.at(-1) ?? 0);
  }
  stop.abort();
  await running;
  expect(waits.slice(0, 3)).toEqual([1000, 2000, 4000]);
});

/** Keys whose handling ends when the test says so. */
function stage(workers: number) {
  const queue = newQueue();
  const hands = new Map<string, () => void>();
  const begun: string[] = [];
  const stop = new AbortController();
  const running = runWorkers(
    queue,
    {
      clock,
      workers,
      handle(key) {
        begun.push(key);
        return new Promise((resolve) => hands.set(key, resolve));
      },
      failed: () => {},
    },
    stop.signal,
  );
  const finish = async (key: string): Promise<void> => {
    hands.get(key)?.();
    hands.delete(key);
    await clock.run(0);
  };
  return { queue, begun, running, hands, finish, stop };
}

const many = (namespace: string, count: number) =>
  Array.from({ length: count }, (_, n) => `Deployment/${namespace}/web-${n}`);

test('who waits long for somebody holds no worker', async () => {
  const { queue, begun, running, hands, finish, stop } = stage(2);
  for (const key of ['a', 'b', 'c']) queue.add(key);
  await clock.run(200);
  expect(begun).toEqual(['a', 'b']);
  await clock.run(100);
  expect(begun).toEqual(['a', 'b', 'c']);
  // And is still in one hand only.
  queue.add('a');
  await clock.run(1000);
  expect(begun).toHaveLength(3);
  await finish('a');
  expect(begun).toEqual(['a', 'b', 'c', 'a']);
  stop.abort();
  for (const key of [...hands.keys()]) await finish(key);
  await running;
});

test('a namespace whose writes all hang leaves room for the others, and goes on when they end', async () => {
  const { queue, begun, running, hands, finish, stop } = stage(2);
  const stuck = many('stuck', 100);
  for (const key of stuck) queue.add(key);
  await clock.run(60_000);
  const most = begun.length;
  expect(most).toBeLessThan(30);
  for (const key of many('other', 20)) queue.add(key);
  await clock.run(60_000);
  expect(begun.filter((key) => key.includes('/other/')).length).toBeGreaterThan(5);
  queue.add('Deployment/third/web');
  await clock.run(1000);
  expect(begun).toContain('Deployment/third/web');
  while (hands.size > 0) {
    for (const key of [...hands.keys()]) await finish(key);
    expect(hands.size).toBeLessThanOrEqual(2 * 16 + 2);
  }
  expect(new Set(begun).size).toBe(121);
  expect(begun).toHaveLength(121);
  stop.abort();
  await running;
});

test('told to stop, who found no room is left to the next, and who waits is waited for', async () => {
  const { queue, begun, running, hands, finish, stop } = stage(1);
  for (const key of many('stuck', 100)) queue.add(key);
  await clock.run(60_000);
  const most = begun.length;
  stop.abort();
  let isOver = false;
  void running.then(() => {
    isOver = true;
  });
  await clock.run(1000);
  expect(isOver).toBe(false);
  for (const key of [...hands.keys()]) await finish(key);
  await running;
  expect(begun).toHaveLength(most);
  expect(queue.size).toBe(100 - most);
});

test('what must end everything does so also from beside the workers', async () => {
  const queue = newQueue();
  const gate = Promise.withResolvers<void>();
  queue.add('a');
  const running = runWorkers(
    queue,
    {
      clock,
      workers: 1,
      handle: () => gate.promise,
      failed: (_key, error) => {
        throw error;
      },
    },
    endless,
  );
  await clock.run(1000);
  gate.reject(new Error('broken'));
  await expect(running).rejects.toThrow('broken');
});
