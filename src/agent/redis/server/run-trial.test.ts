import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { connectRedis } from '../connection/connect.ts';
import { processesIn } from './processes/process-table.ts';
import { createTryServer } from './run-trial.ts';
import { sweepTrialFolders } from './throw-away/trial-folder.ts';
import type { Trial } from './trial.ts';

const tryServer = createTryServer({ redisServer: 'redis-server', connect: connectRedis });
const ping = (trial: Trial) => tryServer(trial, (redis) => redis.send('PING'));
const get = (trial: Trial, key: string) => tryServer(trial, (redis) => redis.send('CONFIG', 'GET', key));

/** Folders of trials of this process. */
const left = (): readonly string[] => readdirSync(tmpdir()).filter((name) => name.startsWith('attune-trial-'));

describe('what Redis takes', () => {
  test('nothing but defaults', async () => {
    expect(await ping({ directives: [] })).toEqual({ ok: true, value: 'PONG' });
  });

  test.each([
    ['io-threads', '2'],
    ['databases', '32'],
    ['save', '900 1 300 10'],
    ['appendonly', 'yes'],
    ['masterauth', 'with "quotes" and blanks'],
  ])('%s %s, and reads it back', async (key, value) => {
    expect(await get({ directives: [[key, value]] }, key)).toEqual({ ok: true, value: [key, value] });
  });

  test('its own folder, socket and ports, whatever is given', async () => {
    const directives = [
      ['port', '6379'],
      ['dir', '/nonexistent'],
      ['unixsocket', '/nonexistent/s'],
      ['logfile', '/nonexistent/log'],
      ['pidfile', '/nonexistent/pid'],
      ['daemonize', 'yes'],
    ] as const;
    expect(await get({ directives: directives.slice(0, 1) }, 'port')).toEqual({ ok: true, value: ['port', '0'] });
    expect(await ping({ directives: directives.filter(([key]) => key !== 'dir') })).toMatchObject({ ok: true });
  });

  test('a node of a cluster, several at a time', async () => {
    const directives = [['cluster-enabled', 'yes']] as const;
    const ask = () => tryServer({ directives }, (redis) => redis.send('CLUSTER', 'MYID'));
    expect(await Promise.all([ask(), ask()])).toEqual([
      { ok: true, value: expect.stringMatching(/^[0-9a-f]{40}$/) },
      { ok: true, value: expect.stringMatching(/^[0-9a-f]{40}$/) },
    ]);
  });

  test.each([
    ['requirepass', { directives: [['requirepass', 'opensesame']] }],
    ['an ACL with default off', { directives: [], acl: 'user default off\nuser bob on >secret ~* +@all' }],
    ['both', { directives: [['requirepass', 'p']], acl: 'user default on >q ~* +@all\n' }],
  ] as const)('the one who asks gets in despite %s', async (_, trial) => {
    expect(await ping(trial)).toEqual({ ok: true, value: 'PONG' });
  });
});

describe('what Redis refuses, in its own words', () => {
  test.each<[string, Trial, string | RegExp]>([
    ['no number', { directives: [['io-threads', 'abc']] }, "io-threads: argument couldn't be parsed into an integer"],
    ['a typo', { directives: [['maxmemroy', '1']] }, 'maxmemroy: Bad directive or wrong number of arguments'],
    ['no memory value', { directives: [['maxmemory', '256Mi']] }, 'maxmemory: argument must be a memory value'],
    [
      'a module that is not there',
      { directives: [['loadmodule', '/x.so']] },
      /^Module \/x\.so failed to load.*server aborting$/,
    ],
    [
      'TLS without certificate',
      { directives: [['tls-port', '1']] },
      /^No tls-cert-file configured!; Failed to configure TLS/,
    ],
    [
      'an unknown command',
      { directives: [], acl: 'user b on >secret +nosuch' },
      "users.acl:1: Error in applying operation '+nosuch': Unknown command or category name in ACL",
    ],
    ['no ACL', { directives: [], acl: 'user a on\nusr b' }, /users\.acl:2/],
    [
      'a user twice',
      { directives: [], acl: 'user y on >a\nuser y on >b' },
      "WARNING: Duplicate user 'y' found on line 2",
    ],
    ['an ACL that kills Redis 7.0', { directives: [], acl: 'user x on (+get' }, /Unmatched|crashes|Syntax error/],
    [
      'a server that lets nobody in',
      {
        directives: [
          ['requirepass', 'x'],
          ['rename-command', 'AUTH ""'],
        ],
      },
      /NOAUTH|AUTH/,
    ],
    ['a value that no file can hold', { directives: [['masterauth', 'a\0b']] }, /^masterauth: .*NUL/],
    ['a key that is none', { directives: [['a b', 'c']] }, /^"a b": is no name/],
  ])('%s', async (_, trial, words) => {
    expect(await ping(trial)).toEqual({
      ok: false,
      words: typeof words === 'string' ? words : expect.stringMatching(words),
    });
  });

  test('no word of a secret', async () => {
    for (const trial of [
      {
        directives: [
          ['masterauth', 'opensesame'],
          ['user', 'bob on >opensesame +nosuch'],
        ],
      },
      { directives: [['user', 'bob on opensesame']] },
      { directives: [], acl: 'user bob on <opensesame ~* +@all' },
      {
        directives: [
          ['requirepass', 'opensesame'],
          ['maxmemory', 'x'],
        ],
      },
    ] as const) {
      const result = await ping(trial);
      expect(result).toMatchObject({ ok: false });
      expect(JSON.stringify(result)).not.toContain('opensesame');
    }
  });

  test('a bad file is found in no time', async () => {
    const began = performance.now();
    for (let i = 0; i < 10; i++) await ping({ directives: [['io-threads', 'abc']] });
    // Some 10 ms each, and never the time that a server has to begin to answer, which is 20 s.
    expect((performance.now() - began) / 10).toBeLessThan(2000);
  });
});

describe('nothing is left', () => {
  test('when the one who asks fails', async () => {
    let folder = '';
    const failing = tryServer({ directives: [] }, async (redis) => {
      [, folder = ''] = (await redis.send('CONFIG', 'GET', 'dir')) as string[];
      throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
    expect(folder).not.toBe('');
    expect(left()).not.toContain(folder.slice(tmpdir().length + 1));
    expect(processesIn(folder, () => true)).toEqual([]);
  });

  test('when the server dies meanwhile, which is a refusal', async () => {
    const result = await tryServer({ directives: [] }, (redis) =>
      redis.send('DEBUG', 'SLEEP', '0').catch(() => redis.send('SHUTDOWN', 'NOSAVE')),
    );
    expect(result).toMatchObject({ ok: false });
  });

  test('no program: the error says what to do', async () => {
    const nobody = createTryServer({ redisServer: '/nonexistent/redis', connect: connectRedis });
    await expect(nobody({ directives: [] }, (redis) => redis.send('PING'))).rejects.toThrow('install redis-server');
  });
});

describe('an agent that was killed during a trial', () => {
  const started: number[] = [];
  afterEach(() => {
    for (const pid of started.splice(0)) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It is gone, as it should be.
      }
    }
  });

  test('leaves a server, which the next agent clears away', async ({ onTestFinished }) => {
    // A folder of its own: other test files clear away what they find, too.
    const own = await mkdtemp('/tmp/t-');
    vi.stubEnv('TMPDIR', own);
    onTestFinished(async () => {
      vi.unstubAllEnvs();
      await rm(own, { recursive: true });
    });
    const here = import.meta.dirname;
    const script = `
      import { createTryServer } from '${here}/run-trial.ts';
      import { connectRedis } from '${here}/../connection/connect.ts';
      const tryServer = createTryServer({ redisServer: 'redis-server', connect: connectRedis });
      await tryServer({ directives: [] }, async (redis) => {
        const info = await redis.send('INFO', 'server');
        console.log(JSON.stringify([Number(/process_id:(\\d+)/.exec(info)[1]), (await redis.send('CONFIG', 'GET', 'dir'))[1]]));
        await new Promise((resolve) => setTimeout(resolve, 600000));
      });`;
    const agent = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    started.push(agent.pid ?? 0);
    const [line] = await once(agent.stdout.setEncoding('utf8'), 'data');
    const [pid, folder] = JSON.parse(line) as [number, string];
    started.push(pid);
    const exit = once(agent, 'exit');
    agent.kill('SIGKILL');
    await exit;
    expect(processesIn(folder, () => true).map((found) => found.pid)).toEqual([pid]);
    await sweepTrialFolders();
    expect(processesIn(folder, () => true)).toEqual([]);
    expect(left()).not.toContain(folder.slice(join(tmpdir(), '/').length));
  });
});
