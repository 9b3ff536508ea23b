import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { loopbackAddress } from '../../../../test/support/redis-process.ts';
import {
  agent,
  dataDir,
  ends,
  logged,
  others,
  root,
  send,
  servers,
  settings,
  startFile,
} from '../../../../test/support/server-process-world.ts';
import { until } from '../../../../test/support/wait.ts';
import { groupMembers } from './processes/process-table.ts';

describe('start', () => {
  test('Redis answers, from a file that nobody else may read', async () => {
    const server = agent();
    expect(server.running).toBe(false);
    expect(await server.start(startFile(['maxmemory', '12mb']))).toEqual({
      ok: true,
      usedLastGood: false,
      adopted: false,
    });
    expect(server.running).toBe(true);
    expect(await send('CONFIG', 'GET', 'maxmemory')).toEqual(['maxmemory', '12582912']);
    expect(servers()).toEqual([server.pid]);
    expect(groupMembers(server.pid ?? 0)).toEqual([server.pid]);
    for (const file of ['redis.conf', 'redis.conf.good']) {
      expect((await stat(join(dataDir, file))).mode & 0o777).toBe(0o600);
      expect(await readFile(join(dataDir, file), 'utf8')).toBe(startFile(['maxmemory', '12mb']));
    }
    expect(await server.stop(5000)).toBe('ended');
    expect([server.running, server.pid, ends]).toEqual([false, undefined, []]);
  });

  test('NOAUTH is an answer too', async () => {
    expect(await agent().start(startFile(['requirepass', 'x']))).toMatchObject({ ok: true });
  });

  test('a second start finds the first', async () => {
    const server = agent();
    const [one, two] = await Promise.all([server.start(startFile()), server.start(startFile())]);
    expect([one, two]).toEqual([one, one]);
    const { pid } = server;
    expect(await server.start(startFile(['maxmemory', '1mb']))).toMatchObject({ ok: true, adopted: true });
    expect([server.pid, servers()]).toEqual([pid, [pid]]);
    expect(await readFile(join(dataDir, 'redis.conf'), 'utf8')).toBe(startFile());
  });

  test('a file that Redis refuses: the last good one is used, and stays the one on disk', async () => {
    const server = agent();
    await server.start(startFile(['maxmemory', '12mb']));
    await server.stop(5000);
    expect(await server.start(startFile(['io-threads', 'abc']))).toEqual({
      ok: true,
      usedLastGood: true,
      adopted: false,
      words: expect.stringMatching(/exit code 1 .*io-threads: argument couldn't be parsed into an integer$/),
    });
    expect(await send('CONFIG', 'GET', 'maxmemory')).toEqual(['maxmemory', '12582912']);
    expect(await readFile(join(dataDir, 'redis.conf'), 'utf8')).toBe(startFile(['maxmemory', '12mb']));
    expect(ends).toEqual([]);
    expect(logged).toContain('level=error msg="redis-server does not start with the new file');
  });

  test('no good file: the words of Redis, and nothing runs', async () => {
    const server = agent();
    const result = await server.start(startFile(['aclfile', join(root, 'missing.acl')]));
    expect(result).toEqual({ ok: false, words: expect.stringContaining('No such file or directory') });
    expect([server.running, servers(), ends]).toEqual([false, [], []]);
    expect(existsSync(join(dataDir, 'redis.conf.good'))).toBe(false);
    expect(await server.start(startFile())).toMatchObject({ ok: true });
  });

  test('data that it cannot load is told apart from a bad file', async () => {
    await writeFile(join(dataDir, 'dump.rdb'), 'this is no dump at all');
    expect(await agent().start(startFile())).toEqual({
      ok: false,
      words: expect.stringMatching(/it is its data in .* cannot load/),
    });
    expect(await readFile(join(dataDir, 'dump.rdb'), 'utf8')).toBe('this is no dump at all');
  });

  test('a port that somebody has', async () => {
    const host = loopbackAddress();
    const somebody = createServer().listen(6379, host);
    await once(somebody, 'listening');
    try {
      const result = await agent().start(startFile(['bind', host], ['port', '6379']));
      expect(result).toEqual({ ok: false, words: expect.stringContaining(`port 6379 on ${host} is taken`) });
    } finally {
      somebody.close();
    }
  });

  test('an address that is not ours', async () => {
    const result = await agent().start(startFile(['bind', '203.0.113.9'], ['port', '6379']));
    expect(result).toEqual({ ok: false, words: expect.stringContaining('203.0.113.9 is no address of this machine') });
  });

  test('what is wrong with the place, all at once', async () => {
    const paths = { ...settings().paths, dataDir: '/nonexistent/data', socket: `/tmp/${'x'.repeat(120)}` };
    expect(await agent({ paths }).start('')).toEqual({
      ok: false,
      words: expect.stringMatching(
        /^the data folder \/nonexistent\/data is missing: .*; .* 125 bytes, the system allows 107/,
      ),
    });
    const file = { ...settings().paths, dataDir: '/etc/hostname' };
    expect(await agent({ paths: file }).start('')).toMatchObject({ words: expect.stringContaining('is no folder') });
  });

  test.each([
    ['that is not installed', 'no-such-redis', 'install redis-server'],
    ['that may not be executed', import.meta.filename, 'may not be executed'],
  ])('a program %s', async (_, redisServer, words) => {
    const server = agent({ redisServer });
    expect(await server.start(startFile())).toEqual({ ok: false, words: expect.stringContaining(words) });
    expect(server.running).toBe(false);
  });

  test('a redis-server of somebody else on the folder is left alone, and none is started beside it', async () => {
    const shell = spawn('sh', ['-c', 'redis-server --port 0 --save "" --unixsocket ../other & wait'], {
      cwd: dataDir,
      detached: true,
      stdio: 'ignore',
    });
    others.push(shell.pid ?? 0);
    const [pid] = await until(() => servers().length === 1 && servers(), { what: 'the other server' });
    const server = agent();
    expect(await server.adopt()).toBe(false);
    expect(await server.start(startFile())).toEqual({
      ok: false,
      words: expect.stringContaining(`end it (pid ${pid})`),
    });
    expect(servers()).toEqual([pid]);
  });
});
