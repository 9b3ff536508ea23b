import { expect, test } from 'vitest';
import { eventually } from '../../test/support/eventually.ts';
import { virtualClock } from '../../test/support/virtual-clock.ts';
import { KeyedQueue } from './queue.ts';
import { runWorkers } from './worker.ts';

const newQueue = () => new KeyedQueue<string>({ clock: virtualClock(), random: () => 1 });

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
  expect(queue.failures('a')).toBe(1);
  queue.add('a');
  queue.drain();
  await runWorkers(queue, { workers: 1, handle: async () => {}, failed: () => {} });
  expect(queue.failures('a')).toBe(0);
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
  const failures: number[] = [];
  queue.add('a');
  await runWorkers(queue, {
    workers: 1,
    async handle(key) {
      queue.retry(key);
      failures.push(queue.failures(key));
      if (failures.length === 3) queue.close();
      else queue.add(key);
    },
    failed: () => {},
  });
  expect(failures).toEqual([1, 2, 3]);
});
