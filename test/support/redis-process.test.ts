import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { eventually } from './eventually.ts';
import { StartFailed, startRedis, tryServerForTests } from './redis-process.ts';

const isAlive = (pid: number): boolean => existsSync(`/proc/${pid}`);

it('starts with the values as they are given, and leaves nothing behind', async () => {
  const redis = await startRedis({
    directives: [
      ['requirepass', 'a "b\\ c'],
      ['save', '900 1 300 10'],
    ],
    acl: undefined,
  });
  expect(await redis.send('CONFIG', 'GET', 'requirepass')).toEqual(['requirepass', 'a "b\\ c']);
  expect(await redis.send('CONFIG', 'GET', 'save')).toEqual(['save', '900 1 300 10']);
  await redis.stop();
  await redis.stop();
  expect([isAlive(redis.pid), existsSync(redis.path)]).toEqual([false, false]);
});

it('tells in the words of Redis why it does not start', async () => {
  const failed = await startRedis({ directives: [['io-threads', 'abc']] }).catch((error: unknown) => error);
  expect(failed).toBeInstanceOf(StartFailed);
  expect(failed).toMatchObject({ words: expect.stringContaining(">>> 'io-threads abc'") });
});

it('tries directives and an ACL that lets nobody else in', async () => {
  const tried = await tryServerForTests()({ directives: [['hz', '20']], acl: 'user default off' }, (redis) =>
    redis.send('CONFIG', 'GET', 'hz'),
  );
  expect(tried).toEqual({ ok: true, value: ['hz', '20'] });
  const refused = await tryServerForTests()({ directives: [], acl: 'user default bad' }, async () => 0);
  expect(refused).toMatchObject({ ok: false, words: expect.stringContaining('users.acl:1: Syntax error') });
});

it('ends with the process that has started it, however that ends', async () => {
  const code = `const { startRedis } = await import(${JSON.stringify(join(import.meta.dirname, 'redis-process.ts'))});
    const { pid, dir } = await startRedis(); console.log(JSON.stringify({ pid, dir })); setInterval(() => {}, 1e6);`;
  const starter = spawn(process.execPath, ['--input-type=module', '-e', code], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(starter.stdout, 'data');
  const { pid, dir } = JSON.parse(String(line)) as { pid: number; dir: string };
  expect(isAlive(pid)).toBe(true);
  starter.kill('SIGKILL');
  await eventually(() => [isAlive(pid), existsSync(dir)]).toEqual([false, false]);
});
