import { execFileSync } from 'node:child_process';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { eventually } from '../../../../test/support/eventually.ts';
import { startRedis, type TestRedis } from '../../../../test/support/redis-process.ts';
import { LocalRedis } from './local-redis.ts';
import type { Credential } from './redis.ts';

let redis: TestRedis;
let local: LocalRedis;
let lost = 0;
let connects = 0;
let credentials: readonly Credential[] = [];

beforeEach(async () => {
  lost = 0;
  connects = 0;
  credentials = [{ user: 'default', password: undefined }];
  redis = await startRedis();
  local = localRedis();
});

afterEach(async () => {
  local.close();
  await redis.stop();
});

const localRedis = () =>
  new LocalRedis({
    target: () => {
      connects += 1;
      return { path: redis.path };
    },
    credentials: () => credentials,
    timeoutMs: 2000,
    onLost: () => {
      lost += 1;
    },
  });

const failure = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => 'no failure',
    (error) => error,
  );

it('opens one connection for all who send at once', async () => {
  expect([local.isConnected, local.user]).toEqual([false, undefined]);
  expect(await Promise.all([local.send('PING'), local.send('PING')])).toEqual(['PONG', 'PONG']);
  expect([connects, local.isConnected, local.user]).toEqual([1, true, 'default']);
});

it('opens it again when it was lost, with the credentials of that moment, and tells of the loss', async () => {
  const id = String(await local.send('CLIENT', 'ID'));
  await redis.send('CONFIG', 'SET', 'requirepass', 'new');
  redis.credentials.unshift({ user: 'default', password: 'new' });
  await redis.send('CLIENT', 'KILL', 'ID', id);
  await eventually(() => lost).toBe(1);
  expect(local.isConnected).toBe(false);
  expect(await failure(local.send('PING'))).toMatchObject({ name: 'RedisRefusal', code: 'NOAUTH' });
  credentials = [{ user: 'default', password: 'new' }];
  expect(await local.send('PING')).toBe('PONG');
  expect([connects, lost]).toEqual([3, 1]);
});

it('sends again what was certainly not delivered, once', async () => {
  await local.send('SET', 'n', '0');
  // Redis closes the connection while nothing else runs here, so that the loss is only noticed by sending.
  execFileSync('redis-cli', ['-s', redis.path, 'CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes']);
  expect(await local.send('INCR', 'n')).toBe(1);
  expect([connects, lost]).toEqual([2, 1]);
});

it('never sends again what may have been carried out', async () => {
  await local.send('PING');
  const blocked = failure(local.send('BLPOP', 'list', '1'));
  await eventually(() => redis.send('CLIENT', 'LIST')).toContain('cmd=blpop');
  await redis.send('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
  expect(await blocked).toMatchObject({ name: 'RedisUnreachable', undelivered: false });
  expect(connects).toBe(1);
});

it('is open again after close, and tells nobody of a loss', async () => {
  await local.send('PING');
  local.close();
  expect(local.isConnected).toBe(false);
  const cut = failure(local.send('PING'));
  local.close();
  expect(await cut).toMatchObject({ name: 'RedisUnreachable' });
  expect(await local.send('PING')).toBe('PONG');
  expect(lost).toBe(0);
  await eventually(() => redis.send('CLIENT', 'LIST').then((list) => String(list).trim().split('\n').length)).toBe(2);
});

it('tries again after a target that could not be told', async () => {
  let isKnown = false;
  const target = () => {
    if (!isKnown) throw new Error('no target yet');
    return { path: redis.path };
  };
  local = new LocalRedis({ target, credentials: () => credentials });
  expect(await failure(local.send('PING'))).toMatchObject({ message: 'no target yet' });
  isKnown = true;
  expect(await local.send('PING')).toBe('PONG');
});

it('finds another server in the place of the first', async () => {
  await local.send('SET', 'first', '1');
  await redis.stop();
  expect(await failure(local.send('PING'))).toMatchObject({ name: 'RedisUnreachable' });
  redis = await startRedis();
  expect(await local.send('GET', 'first')).toBe(null);
});
