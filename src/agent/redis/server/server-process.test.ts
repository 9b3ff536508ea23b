import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { loopbackAddress } from '../../../../test/support/redis-process.ts';
import { until } from '../../../../test/support/wait.ts';
import { renderStartFile } from '../../../domain/redis/start-file.ts';
import { systemClock } from '../../../runtime/clock.ts';
import { createLog } from '../../../telemetry/log.ts';
import { connectRedis } from '../connection/connect.ts';
import type { Reply } from '../connection/redis.ts';
import type { RedisAgentSettings } from '../settings.ts';
import type { ServerEnd } from './processes/follow.ts';
import { groupMembers, processesIn } from './processes/process-table.ts';
import { ServerProcess } from './server-process.ts';

let root = '';
let dataDir = '';
let socket = '';
let ends: ServerEnd[] = [];
let logged = '';
const others: number[] = [];

beforeEach(async () => {
  root = await mkdtemp('/tmp/sp-');
  dataDir = await mkdtemp(join(root, 'd'));
  socket = join(root, 's');
  ends = [];
  logged = '';
});

const servers = (): readonly number[] => processesIn(dataDir, (name) => name === 'redis-server').map(({ pid }) => pid);

afterEach(async () => {
  for (const pid of [...others.splice(0), ...servers()]) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It is gone already.
    }
  }
  await until(() => servers().length === 0, { what: 'no server is left', deadlineMs: 5000 });
  await rm(root, { recursive: true, force: true });
});

const settings = (changes: Partial<RedisAgentSettings> = {}): RedisAgentSettings => ({
  clusterName: 'redis',
  podName: 'redis-0',
  podNamespace: 'default',
  podIp: '',
  mode: 'parent',
  strict: false,
  paths: { dataDir, stateDir: join(root, 'state'), secretsDir: '', tlsDir: '', aclFile: '', socket },
  redisServer: 'redis-server',
  redisAddress: { host: '127.0.0.1', port: 6379 },
  bindAddress: '',
  listen: { host: '', port: 0 },
  stopTimeoutMs: 3000,
  resyncMs: 30_000,
  statusIntervalMs: 5000,
  ...changes,
});

const agent = (changes: Partial<RedisAgentSettings> = {}): ServerProcess =>
  new ServerProcess({
    settings: settings(changes),
    log: createLog({ format: '', level: 'debug', write: (line) => (logged += line), now: () => 0 }),
    clock: systemClock,
    onEnd: (end) => ends.push(end),
  });

const startFile = (...more: readonly (readonly [string, string])[]): string =>
  renderStartFile([
    ['port', '0'],
    ['unixsocket', socket],
    ['dir', dataDir],
    ['logfile', join(root, 'log')],
    ['enable-debug-command', 'yes'],
    ...more,
  ]);

async function send(...words: readonly string[]): Promise<Reply> {
  const redis = await connectRedis({ path: socket }, { credentials: () => [{ user: 'default', password: undefined }] });
  try {
    return await redis.send(...words);
  } finally {
    redis.close();
  }
}

const log = (): Promise<string> => readFile(join(root, 'log'), 'utf8');
const timesLogged = async (words: string): Promise<number> => (await log()).split(words).length - 1;

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

describe('stop', () => {
  test('saves, and several calls are one signal', async () => {
    const server = agent();
    await server.start(startFile(['save', '900 1'], ['rdb-key-save-delay', '20000']));
    for (const key of ['a', 'b', 'c']) await send('SET', key, '1');
    const first = server.stop(10_000);
    await until(async () => (await timesLogged('Received SIGTERM')) === 1, { what: 'Redis has the signal' });
    server.signal('SIGTERM');
    server.signal('SIGINT');
    expect(await Promise.all([first, server.stop(10_000), server.stop(1)])).toEqual(['ended', 'ended', 'ended']);
    expect(await timesLogged('Received SIG')).toBe(1);
    expect(readdirSync(dataDir)).toContain('dump.rdb');
    expect(await server.stop(1)).toBe('ended');
  });

  test('one signal, though the agent was killed after it', async () => {
    const first = agent();
    await first.start(startFile(['save', '900 1'], ['rdb-key-save-delay', '100000']));
    for (const key of ['a', 'b', 'c', 'd', 'e']) await send('SET', key, '1');
    first.signal('SIGTERM');
    await until(async () => (await timesLogged('Received SIGTERM')) === 1, { what: 'Redis has the signal' });
    const state = join(root, 'state', 'server.json');
    await until(async () => (await readFile(state, 'utf8')).includes('SIGTERM'), { what: 'it is noted' });
    const second = agent();
    expect(await second.adopt()).toBe(true);
    expect(await second.stop(10_000)).toBe('ended');
    expect(await timesLogged('Received SIG')).toBe(1);
    expect(readdirSync(dataDir)).toContain('dump.rdb');
  });

  test('with a folder that cannot be written Redis refuses to end, and is killed within the deadline', async () => {
    const server = agent();
    await server.start(startFile(['save', '900 1']));
    await send('SET', 'a', '1');
    const { pid } = server;
    await rm(dataDir, { recursive: true });
    const began = performance.now();
    expect(await server.stop(400)).toBe('killed');
    expect(performance.now() - began).toBeGreaterThan(399);
    expect(performance.now() - began).toBeLessThan(3000);
    expect(await log()).toContain("can't exit");
    expect([groupMembers(pid ?? 0), server.running, ends]).toEqual([[], false, []]);
  });

  test('with a hung Redis, and with its child', async () => {
    const server = agent();
    await server.start(startFile(['rdb-key-save-delay', '1000000']));
    await send('SET', 'a', '1');
    await send('BGSAVE');
    const pid = server.pid ?? 0;
    expect(groupMembers(pid)).toHaveLength(2);
    process.kill(pid, 'SIGSTOP');
    expect(await server.stop(100)).toBe('killed');
    expect(groupMembers(pid)).toEqual([]);
  });

  test('a full disk for what is remembered is no reason to go on', async () => {
    await writeFile(join(root, 'state'), 'a file where the folder should be');
    const server = agent();
    expect(await server.start(startFile())).toMatchObject({ ok: true });
    expect(await server.stop(5000)).toBe('ended');
    expect(logged).toContain('could not be kept');
  });

  test('while it starts: it does not start again', async () => {
    const server = agent();
    await server.start(startFile());
    await server.stop(5000);
    const starting = server.start(startFile(['maxmemory', '1mb']));
    await until(() => server.running, { what: 'it runs', deadlineMs: 5000 });
    await server.stop(5000);
    await starting;
    expect([server.running, servers()]).toEqual([false, []]);
  });
});

describe('an end that nobody wanted', () => {
  test('is told with what is known of it, after its child is gone', async () => {
    const server = agent();
    await server.start(startFile(['rdb-key-save-delay', '1000000']));
    await send('SET', 'a', '1');
    await send('BGSAVE');
    const pid = server.pid ?? 0;
    process.kill(pid, 'SIGKILL');
    const [end] = await until(() => ends.length > 0 && ends, { what: 'the end is told' });
    expect(end).toEqual({ pid, code: undefined, signal: 'SIGKILL', asked: false });
    expect([server.running, servers()]).toEqual([false, []]);
    expect(await server.start(startFile())).toMatchObject({ ok: true });
  });

  test('after a signal that was asked for it has its exit code', async () => {
    const server = agent();
    await server.start(startFile());
    const { pid } = server;
    server.signal('SIGINT');
    server.signal('SIGINT');
    await until(() => ends.length > 0, { what: 'the end is told' });
    expect(ends).toEqual([{ pid, code: 0, signal: undefined, asked: true }]);
    expect(await timesLogged('Received SIGINT')).toBe(1);
  });

  test('of a server that was taken over', async () => {
    await agent().start(startFile());
    const second = agent();
    await second.adopt();
    const pid = second.pid ?? 0;
    process.kill(pid, 'SIGKILL');
    await until(() => ends.length === 2, { what: 'both are told' });
    expect(ends).toContainEqual({ pid, code: undefined, signal: undefined, asked: false });
  });
});

describe('adopt', () => {
  test('nothing there', async () => {
    expect(await agent().adopt()).toBe(false);
  });

  test('the living server, without a word in the state folder', async () => {
    const first = agent();
    await first.start(startFile());
    await send('SET', 'a', '1');
    await rm(join(root, 'state'), { recursive: true });
    await rm(join(dataDir, 'redis.conf.good'));
    const second = agent();
    expect(await second.adopt()).toBe(true);
    expect(second.pid).toBe(first.pid);
    expect(await send('GET', 'a')).toBe('1');
    expect(await readFile(join(dataDir, 'redis.conf.good'), 'utf8')).toBe(startFile());
    expect(await second.start(startFile())).toMatchObject({ ok: true, adopted: true });
  });

  test('a server that is about to be seen, of an agent that was killed while it started one', async () => {
    const { stateDir } = settings().paths;
    await mkdir(stateDir);
    await writeFile(join(stateDir, 'server.json'), '{"starting":true}');
    await writeFile(join(dataDir, 'redis.conf'), startFile());
    const second = agent();
    const adopted = second.adopt();
    const child = spawn('sh', ['-c', 'sleep 0.1; exec redis-server redis.conf'], {
      cwd: dataDir,
      detached: true,
      stdio: 'ignore',
    });
    expect(await adopted).toBe(true);
    expect(servers()).toEqual([child.pid]);
  });

  test('by the state file, though the data folder is gone', async () => {
    const first = agent();
    await first.start(startFile());
    await rm(dataDir, { recursive: true });
    const second = agent();
    expect(await second.adopt()).toBe(true);
    expect(second.pid).toBe(first.pid);
    expect(await second.stop(500)).toMatch(/ended|killed/);
  });

  test('a server on another socket is of no use: it is stopped in order', async () => {
    const first = agent();
    await first.start(startFile(['save', '900 1']));
    await send('SET', 'a', '1');
    const second = agent({ paths: { ...settings().paths, socket: join(root, 'other') } });
    expect(await second.adopt()).toBe(false);
    expect(servers()).toEqual([]);
    expect(await timesLogged('Received SIGTERM')).toBe(1);
    expect(readdirSync(dataDir)).toContain('dump.rdb');
  });

  test('of two servers the one that has the socket', async () => {
    const first = agent();
    await first.start(startFile());
    const older = first.pid ?? 0;
    const conf = join(root, 'second.conf');
    await writeFile(conf, startFile());
    const child = spawn('redis-server', [conf], { cwd: dataDir, detached: true, stdio: 'ignore' });
    const newer = child.pid ?? 0;
    await until(async () => String(await send('INFO', 'server')).includes(`process_id:${newer}`), {
      what: 'the second has the socket',
    });
    const second = agent();
    expect(await second.adopt()).toBe(true);
    expect([second.pid, servers()]).toEqual([newer, [newer]]);
    expect(servers()).not.toContain(older);
    expect(logged).toContain('level=error msg="a second redis-server');
  });

  test('a bgsave whose server is dead is killed first: the newer dump survives', async () => {
    // Nobody of this process looks after the first one: agent and server are killed at the same time.
    await writeFile(join(dataDir, 'redis.conf'), startFile(['rdb-key-save-delay', '1000000']));
    const first = spawn('redis-server', ['redis.conf'], { cwd: dataDir, detached: true, stdio: 'ignore' });
    const exit = once(first, 'exit');
    await until(() => send('SET', 'old', '1'), { what: 'the first server answers' });
    await send('BGSAVE');
    const group = first.pid ?? 0;
    process.kill(group, 'SIGKILL');
    await exit;
    expect(groupMembers(group)).toHaveLength(1);

    const second = agent();
    expect(await second.adopt()).toBe(false);
    expect(groupMembers(group)).toEqual([]);
    await second.start(startFile());
    await send('SET', 'new', '1');
    await send('SAVE');
    const dump = await readFile(join(dataDir, 'dump.rdb'));
    process.kill(second.pid ?? 0, 'SIGKILL');
    await until(() => !second.running, { what: 'the second server is gone' });
    expect(await readFile(join(dataDir, 'dump.rdb'))).toEqual(dump);
    await second.start(startFile());
    expect([await send('DBSIZE'), await send('GET', 'new')]).toEqual([1, '1']);
  });

  test('agents killed at any moment: never two servers', async () => {
    const script = `
      import { ServerProcess } from '${import.meta.dirname}/server-process.ts';
      import { systemClock as clock } from '${import.meta.dirname}/../../../runtime/clock.ts';
      const silent = () => {};
      const log = { debug: silent, info: silent, warn: silent, error: silent };
      const [settings, startFile] = JSON.parse(process.argv[1]);
      const server = new ServerProcess({ settings, log, clock, onEnd: silent });
      process.stdout.write('begins');
      if (!(await server.adopt())) await server.start(startFile);
      process.stdout.write('is up');
      setInterval(() => {}, 1000);`;
    const argument = JSON.stringify([settings(), startFile(['save', '900 1'])]);
    const most: number[] = [];
    let took = 0;
    for (let round = 0; round < 20; round++) {
      const parent = spawn(process.execPath, ['--input-type=module', '-e', script, argument], {
        cwd: root,
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      others.push(parent.pid ?? 0);
      const exit = once(parent, 'exit');
      await once(parent.stdout, 'data');
      const began = performance.now();
      const isUp = once(parent.stdout, 'data');
      // The first one shows how long it takes; the others are killed at any moment of that, or a little later.
      await (round === 0 ? isUp : Promise.race([isUp, delay(Math.random() * took)]));
      took ||= 1.5 * (performance.now() - began);
      parent.kill('SIGKILL');
      await exit;
      most.push(servers().length);
      // Every third time the next one has to start a server itself.
      if (round % 3 === 2) for (const pid of servers()) process.kill(pid, 'SIGKILL');
    }
    expect(Math.max(...most)).toBe(1);
    const last = agent();
    expect(await last.start(startFile(['save', '900 1']))).toMatchObject({ ok: true });
    expect(servers()).toEqual([last.pid]);
    expect(await last.stop(5000)).toBe('ended');
  });
});
