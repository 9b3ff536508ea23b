import { expect, test } from 'vitest';
import { eventually } from '../../test/support/eventually.ts';
import { virtualClock } from '../../test/support/virtual-clock.ts';
import { KeyedQueue } from './queue.ts';
import { runWorkers } from './worker.ts';

const clock = virtualClock();
const newQueue = () => new KeyedQueue<string>({ clock, random: () => 1 });

test('as many keys are in hand as there are workers', async () => {
  const queue = newQueue();
  const gate = Promise.withResolvers<void>();
  const begun: string[] = [];
  for (const key of ['a', 'b', 'c', 'd']) queue.add(key);
  const running = runWorkers(queue, {
    workers: 3,
    async handle(key) {
      begun.push(key);
      if (begun.length === 3) queue.drain();
      await gate.promise;
    },
    failed: () => {},
  });
  await eventually(() => begun).toEqual(['a', 'b', 'c']);
  gate.resolve();
  await running;
  expect(begun).toEqual(['a', 'b', 'c', 'd']);
});

test('a failure goes to the hook, and the other keys go on', async () => {
  const queue = newQueue();
  const failures: [string, unknown][] = [];
  const handled: string[] = [];
  for (const key of ['bad', 'good']) queue.add(key);
  queue.drain();
  const error = new Error('no');
  await runWorkers(queue, {
    workers: 1,
    async handle(key) {
      if (key === 'bad') throw error;
      handled.push(key);
    },
    failed: (key, cause) => failures.push([key, cause]),
  });
  expect(failures).toEqual([['bad', error]]);
  expect(handled).toEqual(['good']);
});

test('a success makes earlier failures forgotten', async () => {
  const queue = newQueue();
  queue.retry('a');
  clock.advance(1000);
  queue.drain();
  await runWorkers(queue, { workers: 1, handle: async () => {}, failed: () => {} });
  expect(queue.release('a')).toBe(false);
  expect(queue.retry('a') - clock.now()).toBe(1000);
});

test('after close the workers end when their hands are empty, and take nothing more', async () => {
  const queue = newQueue();
  const gate = Promise.withResolvers<void>();
  const finished: string[] = [];
  queue.add('a');
  const running = runWorkers(queue, {
    workers: 1,
    async handle(key) {
      await gate.promise;
      finished.push(key);
    },
    failed: () => {},
  });
  await Promise.resolve();
  queue.add('b');
  queue.close();
  gate.resolve();
  await running;
  expect(finished).toEqual(['a']);
});

test('who asks for another try has not succeeded: the next wait is longer', async () => {
  const queue = newQueue();
  const waits: number[] = [];
  queue.add('a');
  const running = runWorkers(queue, {
    workers: 1,
    async handle(key) {
      waits.push(queue.retry(key) - clock.now());
    },
    failed: () => {},
  });
  for (let n = 1; n <= 3; n += 1) {
    await eventually(() => waits.length).toBe(n);
    await clock.run(waits.at(-1) ?? 0);
  }
  queue.close();
  await running;
  expect(waits.slice(0, 3)).toEqual([1000, 2000, 4000]);
});
