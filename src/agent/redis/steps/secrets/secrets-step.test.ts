import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { type PodOptions, SecretsPod } from '../../../../../test/support/secrets-world.ts';
import { until } from '../../../../../test/support/wait.ts';
import { connectRedis } from '../../connection/connect.ts';
import { sha256 } from './passwords/known-passwords.ts';

const pods: SecretsPod[] = [];
afterEach(async () => {
  for (const pod of pods.splice(0)) await pod[Symbol.asyncDispose]();
});

async function podWith(options: PodOptions = {}): Promise<SecretsPod> {
  const pod = new SecretsPod(options);
  pods.push(pod);
  await pod.start();
  return pod;
}

const AUTH = { cluster: { authSecret: 'redis-auth' } };
const withPassword = (password: string | Buffer, more: PodOptions = {}): PodOptions => ({
  ...more,
  cluster: { ...AUTH.cluster, ...more.cluster },
  files: { 'redis-auth/password': password, ...more.files },
});
const aclFile = (pod: SecretsPod): string => readFileSync(join(pod.dir, 'users.acl'), 'utf8');
const writes = (pod: SecretsPod): readonly string[] => pod.sent.filter((words) => /SET|DEL|LOAD|SAVE/.test(words));

describe('the first password', () => {
  test('S1 S2 counts from the first moment of a Redis, and is settled', async () => {
    const pod = await podWith(withPassword('  p1\n'));
    expect([await pod.opens('p1'), await pod.opens('p0')]).toEqual([true, false]);
    const report = await pod.pass();
    expect(report).toMatchObject({ problems: [], credentials: { phase: 'Settled', since: '2026-01-01T00:00:00Z' } });
    expect(report.credentials?.message).toContain('rotates alone');
    expect(await pod.masterauth()).toBe('p1');
    expect(await pod.send('CONFIG', 'GET', 'masteruser')).toEqual(['masteruser', 'default']);
    expect(pod.events).toEqual([]);
  });

  test('S7 a second pass sends no write, tells nothing and starts no trial', async () => {
    const pod = await podWith(withPassword('p1'));
    await pod.pass();
    pod.sent.length = 0;
    const { mtimeMs } = statSync(join(pod.dir, 'users.acl'));
    const trials = pod.trials.length;
    await pod.pass();
    expect(pod.sent).toEqual(['ACL LIST', 'CONFIG GET']);
    expect([pod.events, pod.trials.length]).toEqual([[], trials]);
    expect(statSync(join(pod.dir, 'users.acl')).mtimeMs).toBe(mtimeMs);
  });

  test('is nowhere in clear, and the files are for nobody else', async () => {
    const pod = await podWith(withPassword('very-secret'));
    await pod.pass();
    for (const file of ['users.acl', 'state/secrets.json', 'state/agent-password']) {
      expect(readFileSync(join(pod.dir, file), 'utf8')).not.toContain('very-secret');
      expect(statSync(join(pod.dir, file)).mode & 0o777).toBe(0o600);
    }
    expect(aclFile(pod)).toContain(`user default on #${sha256('very-secret')} ~* &* +@all`);
    expect(pod.told.join()).not.toContain('very-secret');
  });

  test.each([
    ['blanks and quotes', `a b "c" 'd' #x >y`],
    ['no ASCII', 'pässwörd→'],
    ['line ends within', 'a\r\nb'],
    ['the longest that Redis reads', 'x'.repeat(16_384)],
    ['the name of a setting', 'masteruser'],
  ])('may have %s', async (_, password) => {
    const pod = await podWith(withPassword(password));
    expect(await pod.pass()).toMatchObject({ problems: [], credentials: { phase: 'Settled' } });
    expect(await pod.opens(password)).toBe(true);
    expect(await pod.masterauth()).toBe(password);
  });

  test('without a Secret Redis is open, and the agent has a login all the same', async () => {
    const pod = await podWith();
    expect(await pod.pass()).toMatchObject({ credentials: undefined, acl: undefined, problems: [] });
    expect(await pod.send('ACL', 'WHOAMI')).toBe('attune-agent');
    expect(await pod.user('default')).toContain('nopass');
  });
});

describe('A10 a password that cannot be read', () => {
  const BAD: readonly (readonly [string, string | Buffer | undefined, string])[] = [
    ['missing', undefined, 'is missing: the secret is not projected'],
    ['empty', ' \n', 'is empty'],
    ['too long', 'x'.repeat(16_385), 'is 16385 bytes long'],
    ['with a NUL byte', 'a\0b', 'has a NUL byte'],
    ['not UTF-8', Buffer.from([0xff, 0xfe, 0x41]), 'is not UTF-8'],
  ];
  test.each(BAD)('%s: nothing changes, told once', async (_, content, words) => {
    const pod = await podWith(withPassword('p1'));
    await pod.pass();
    if (content === undefined) pod.files.delete('redis-auth/password');
    else pod.files.set('redis-auth/password', content);
    pod.sent.length = 0;
    const report = await pod.pass();
    await pod.pass();
    expect(report.problems).toEqual([
      { where: '/projected/redis-auth/password', what: expect.stringContaining(words) },
    ]);
    expect(report.credentials).toMatchObject({ phase: 'Settled', message: expect.stringContaining(words) });
    expect(writes(pod)).toEqual([]);
    expect(pod.events).toEqual([expect.stringMatching(/^Warning SecretRefused: redis-0: \/projected\/redis-auth/)]);
    pod.killAgent();
    await pod.pass();
    await pod.restart();
    expect([await pod.opens('p1'), await pod.masterauth()]).toEqual([true, '']);
    expect(pod.events).toHaveLength(1);
  });

  test('is told again when it was right in between', async () => {
    const pod = await podWith(withPassword('p1'));
    for (const content of ['', 'p1', '']) {
      pod.files.set('redis-auth/password', content);
      await pod.pass();
    }
    expect(pod.events).toHaveLength(2);
  });

  test('before the first start: the default user is closed, not open, until it comes', async () => {
    const pod = await podWith(AUTH);
    expect(await pod.opens('')).toBe(false);
    const report = await pod.pass();
    expect(report.problems).toHaveLength(1);
    await expect(connectRedis({ path: pod.server?.path ?? '' }, { credentials: () => [] })).rejects.toThrow('NOAUTH');
    pod.files.set('redis-auth/password', 'p1');
    expect(await pod.pass()).toMatchObject({ problems: [], credentials: { phase: 'Settled' } });
    expect(await pod.opens('p1')).toBe(true);
  });
});

describe('A1 S4 S5 the password for the primary', () => {
  const replicaMode = { promote: false, host: '127.0.0.1', port: 1, authSecret: 'upstream' };

  test('is one value, sent once', async () => {
    const pod = await podWith(withPassword('p1', { cluster: { replicaMode }, files: { 'upstream/password': 'up\n' } }));
    await pod.pass();
    expect(await pod.masterauth()).toBe('up');
    expect(pod.sent.filter((words) => words === 'CONFIG SET')).toHaveLength(1);
    pod.cluster = { ...pod.cluster, replicaMode: undefined };
    await pod.pass();
    expect(await pod.masterauth()).toBe('p1');
  });

  test('A10 stays where the file of the source is missing', async () => {
    const pod = await podWith(withPassword('p1', { cluster: { replicaMode } }));
    await pod.send('CONFIG', 'SET', 'masterauth', 'by-hand');
    const report = await pod.pass();
    expect(await pod.masterauth()).toBe('by-hand');
    expect(report.problems).toEqual([
      { where: '/projected/upstream/password', what: expect.stringContaining('missing') },
    ]);
    expect(pod.events).toEqual([expect.stringContaining('SecretRefused')]);
  });

  test('is cleared where no password is known, and only then', async () => {
    const pod = await podWith();
    await pod.send('CONFIG', 'SET', 'masterauth', 'left-over');
    await pod.pass();
    expect(await pod.masterauth()).toBe('');
    expect(writes(pod)).toEqual(['CONFIG SET']);
    await pod.pass();
    expect(writes(pod)).toEqual(['CONFIG SET']);
  });

  test('drift is put right', async () => {
    const pod = await podWith(withPassword('p1'));
    await pod.pass();
    await pod.send('CONFIG', 'SET', 'masterauth', '', 'masteruser', '');
    await pod.pass();
    expect(await pod.masterauth()).toBe('p1');
  });
});

describe('A3 drift of the default user', () => {
  test.each([
    ['nopass', ['nopass']],
    ['another password only', ['resetpass', '>other']],
    ['off', ['off']],
  ])('%s is put right, whatever CONFIG GET requirepass says', async (_, words) => {
    const pod = await podWith(withPassword('p1'));
    await pod.pass();
    await pod.send('ACL', 'SETUSER', 'default', ...words);
    await pod.pass();
    expect([await pod.opens('p1'), await pod.opens('wrong')]).toEqual([true, false]);
  });

  test('a password that somebody has added stays until a rotation ends, and is told', async () => {
    const pod = await podWith(withPassword('p1'));
    await pod.pass();
    await pod.send('ACL', 'SETUSER', 'default', '>other');
    expect((await pod.pass()).credentials?.message).toContain('user default has 1 more, not from the Secret');
    expect(await pod.opens('other')).toBe(true);
    pod.files.set('redis-auth/password', 'p2');
    await pod.pass();
    pod.clock.advance(60_000);
    await pod.pass();
    expect([await pod.opens('other'), await pod.opens('p1'), await pod.opens('p2')]).toEqual([false, false, true]);
    expect((await pod.pass()).credentials?.message).not.toContain('more');
  });

  test('also after somebody has loaded a file without a default line', async () => {
    const pod = await podWith(withPassword('p1'));
    await pod.pass();
    writeFileSync(join(pod.dir, 'users.acl'), `${aclFile(pod).split('\n')[1]}\n`);
    await pod.send('ACL', 'LOAD');
    expect(await pod.opens('wrong')).toBe(true);
    // It has closed our own connection too, at some moment.
    await until(() => pod.pass(), { what: 'a pass' });
    expect([await pod.opens('p1'), await pod.opens('wrong')]).toEqual([true, false]);
    expect(aclFile(pod)).toContain('user default on #');
  });

  test('a Secret that is no longer named opens nothing', async () => {
    const pod = await podWith(withPassword('p1'));
    await pod.pass();
    pod.cluster = { ...pod.cluster, authSecret: undefined };
    pod.sent.length = 0;
    expect((await pod.pass()).credentials?.message).toContain('spec.authSecret is gone');
    expect(writes(pod)).toEqual([]);
    await pod.restart();
    expect([await pod.opens('p1'), await pod.opens('wrong')]).toEqual([true, false]);
  });
});

describe('the login of the agent', () => {
  test('works when the Secret has changed while no agent ran', async () => {
    const pod = await podWith(withPassword('p1'));
    await pod.pass();
    pod.killAgent();
    pod.files.set('redis-auth/password', 'p2');
    expect(await pod.pass()).toMatchObject({ problems: [], credentials: { phase: 'Used' } });
    expect([await pod.opens('p1'), await pod.opens('p2')]).toEqual([true, true]);
  });

  test('is made again where its file was lost', async () => {
    const pod = await podWith(withPassword('p1'));
    await pod.pass();
    rmSync(join(pod.dir, 'state/agent-password'));
    pod.killAgent();
    await pod.pass();
    pod.killAgent();
    expect(await pod.send('ACL', 'WHOAMI')).toBe('attune-agent');
    expect(pod.step.credentials().map(({ user }) => user)).toEqual(['attune-agent', 'default']);
  });
});

describe('an agent that knows little', () => {
  test('has lost its notes: a password that Redis has is in use', async () => {
    const pod = await podWith(withPassword('p1'));
    await pod.pass();
    rmSync(join(pod.dir, 'state/secrets.json'));
    pod.killAgent();
    pod.files.set('redis-auth/password', 'p2');
    expect(await pod.pass()).toMatchObject({ credentials: { phase: 'Used' } });
    expect([await pod.opens('p1'), await pod.opens('p2')]).toEqual([true, true]);
    pod.clock.advance(60_000);
    await pod.pass();
    expect([await pod.opens('p1'), await pod.opens('p2')]).toEqual([false, true]);
  });

  test('is killed with Redis at every command of a pass: the next start works, and the next pass ends the work', async () => {
    const acl = { cluster: { aclSecret: 'acl' }, files: { 'acl/acl': 'user alice on >a +@all\nuser bob on >b +get' } };
    const pod = await podWith(withPassword('p1', acl));
    await pod.pass();
    for (let at = 0, isOver = false; !isOver; at += 1) {
      const [before, after] = [`p${at + 1}`, `p${at + 2}`];
      pod.files.set('redis-auth/password', after);
      pod.files.set('acl/acl', `user alice on >a +@all -del\nuser carol on >${after} +get`);
      const context = pod.context();
      let left = at;
      const redis = {
        send: (...words: readonly (string | Buffer)[]) => {
          left -= 1;
          return left < 0 ? Promise.reject(new Error('killed')) : context.redis.send(...words);
        },
      };
      isOver = await pod.step.apply({ ...context, redis }).then(
        () => true,
        () => false,
      );
      pod.killAgent();
      await pod.restart();
      expect([at, await pod.opens(before), await pod.opens(after), await pod.opens('wrong')]).toEqual([
        at,
        true,
        true,
        false,
      ]);
      expect(await pod.pass()).toMatchObject({
        problems: [],
        credentials: { phase: 'Used' },
        acl: { state: 'Applied' },
      });
      expect([await pod.opens(after, 'carol'), await pod.user('bob')]).toEqual([true, undefined]);
      pod.clock.advance(60_000);
      expect(await pod.pass()).toMatchObject({ credentials: { phase: 'Settled' } });
      expect(at).toBeLessThan(20);
    }
  });

  test('was killed before its first pass: the password of the first start is in use', async () => {
    const pod = await podWith(withPassword('p1'));
    pod.killAgent();
    pod.files.set('redis-auth/password', 'p2');
    await pod.restart();
    expect([await pod.opens('p1'), await pod.opens('p2')]).toEqual([true, true]);
  });

  test('says nothing of a phase that no login has proven', async () => {
    const other = await podWith(withPassword('of-another'));
    const pod = await podWith(withPassword('p1'));
    pod.loginPath = other.server?.path;
    const report = await pod.pass();
    expect(report).toMatchObject({ wakeAfterMs: 2000, credentials: { phase: undefined } });
    expect(report.credentials?.message).toContain('does not let anybody in with it');
    pod.loginPath = undefined;
    expect(await pod.pass()).toMatchObject({ credentials: { phase: 'Settled' } });
  });

  test('starts Redis without users whose rules a new version refuses, closed as before', async () => {
    const acl = { cluster: { aclSecret: 'acl' }, files: { 'acl/acl': 'user alice on >a +@all' } };
    const pod = await podWith(withPassword('p1', acl));
    const context = pod.prepareContext();
    await pod.step.prepare({
      ...context,
      tryServer: async (trial, ask) =>
        trial.acl?.includes('user alice') ? { ok: false, words: 'no' } : context.tryServer(trial, ask),
    });
    expect(aclFile(pod)).toMatch(/^user default on #\w+ .*\nuser attune-agent .*\n$/);
  });

  test('cannot write on a full disk: Redis starts with the users of the last start', async () => {
    const pod = await podWith(withPassword('p1'));
    rmSync(join(pod.dir, 'state'), { recursive: true });
    writeFileSync(join(pod.dir, 'state'), 'no folder');
    pod.killAgent();
    await pod.restart();
    expect([await pod.opens('p1'), await pod.opens('wrong')]).toEqual([true, false]);
  });
});

describe("a sidecar's Redis", () => {
  const sidecar = (password: string, more: PodOptions = {}) => withPassword(password, { mode: 'sidecar', ...more });

  test('gets the password, and none of its files is written', async () => {
    const pod = await podWith(sidecar('p1'));
    expect(await pod.pass()).toMatchObject({ credentials: { phase: 'Settled' } });
    expect([await pod.opens('p1'), await pod.opens('wrong')]).toEqual([true, false]);
    expect(() => aclFile(pod)).toThrow('ENOENT');
    expect(await pod.user('attune-agent')).toContain('on #');
  });

  test('is open to the agent also if the Secret has changed while no agent ran', async () => {
    const pod = await podWith(sidecar('p1'));
    await pod.pass();
    pod.killAgent();
    pod.files.set('redis-auth/password', 'p2');
    expect(await pod.pass()).toMatchObject({ problems: [], credentials: { phase: 'Used' } });
    expect([await pod.opens('p1'), await pod.opens('p2')]).toEqual([true, true]);
  });

  test('has a password in use: it goes the way of every earlier one', async () => {
    const directives = [['requirepass', 'conf']] as const;
    const pod = await podWith(sidecar('p1', { redis: { directives } }));
    pod.files.set('redis-auth/password', 'conf');
    await pod.pass();
    pod.files.set('redis-auth/password', 'p1');
    pod.killAgent();
    pod.step.learn({
      ...pod.prepareContext(),
      secrets: { root: '', get: () => ({ kind: 'bytes', bytes: Buffer.from('conf') }) },
    });
    expect(await pod.pass()).toMatchObject({ credentials: { phase: 'Used' } });
    expect([await pod.opens('conf'), await pod.opens('p1')]).toEqual([true, true]);
    pod.clock.advance(60_000);
    await pod.pass();
    expect([await pod.opens('conf'), await pod.opens('p1')]).toEqual([false, true]);
  });

  test('is restarted by somebody with the password of its own file', async () => {
    const pod = await podWith(sidecar('p1', { redis: { directives: [['requirepass', 'p1']] } }));
    await pod.pass();
    pod.files.set('redis-auth/password', 'p2');
    await pod.pass();
    pod.clock.advance(60_000);
    await pod.pass();
    await pod.restart();
    await pod.pass();
    expect([await pod.opens('p2'), await pod.masterauth()]).toEqual([true, 'p2']);
  });

  test('with a password that nobody knows: the refusal is for the caller', async () => {
    const pod = await podWith(sidecar('p1', { redis: { directives: [['requirepass', 'unknown']] } }));
    await expect(pod.pass()).rejects.toThrow(/WRONGPASS|NOAUTH/);
  });
});
