import { expect, test } from 'vitest';
import { startRedis } from '../../../../test/support/redis-process.ts';
import { until } from '../../../../test/support/wait.ts';
import { Load, type LoadClient } from './load.ts';

const client = (path: string, key: string, writes: boolean): LoadClient => ({
  target: { path },
  credentials: () => [{ user: 'default', password: undefined }],
  key,
  writes,
});

test('commands that succeed are counted, and nothing is said', async () => {
  await using redis = await startRedis();
  const said: string[] = [];
  const load = new Load((words) => void said.push(words));
  await load.start([client(redis.path, 'a', true), client(redis.path, 'a', false)]);
  await until(() => load.counts.commands > 50, { what: 'fifty commands' });
  expect(await load.stop()).toMatchObject({ failed: 0, lost: 0 });
  expect(said).toEqual([]);
  expect(Number(await redis.send('GET', 'a'))).toBeGreaterThan(0);
});

test('a Redis that takes no writes, wrong answers and lost connections are counted and told', async () => {
  await using redis = await startRedis();
  const said: string[] = [];
  const load = new Load((words) => void said.push(words));
  await load.start([client(redis.path, 'a', true)]);
  await until(() => load.counts.commands > 10, { what: 'some commands' });
  await redis.send('CONFIG', 'SET', 'min-replicas-to-write', '1');
  await until(() => said.some((words) => words.includes('NOREPLICAS')), { what: 'a refusal' });
  await redis.send('CONFIG', 'SET', 'min-replicas-to-write', '0');
  const other = setInterval(() => void redis.send('SET', 'a', 'x').catch(() => {}), 1);
  await until(() => said.some((words) => /^a is "x", though \d+ was written$/.test(words)), { what: 'a wrong answer' });
  clearInterval(other);
  await redis.send('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
  await until(() => load.counts.lost === 1, { what: 'a lost connection' });
  const { commands } = load.counts;
  await until(() => load.counts.commands > commands + 10, { what: 'commands over a new connection' });
  expect((await load.stop()).failed).toBeGreaterThan(0);
});

test('who cannot connect at all does not begin', async () => {
  const load = new Load(() => {});
  await expect(load.start([client('/tmp/none.sock', 'a', true)])).rejects.toThrow();
  expect(await load.stop()).toEqual({ commands: 0, failed: 0, lost: 0 });
});
