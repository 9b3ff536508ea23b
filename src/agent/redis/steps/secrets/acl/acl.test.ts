import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { type PodOptions, SecretsPod } from '../../../../../../test/support/secrets-world.ts';
import { connectRedis, type RedisConnection } from '../../../connection/connect.ts';
import type { Credential } from '../../../connection/redis.ts';
import { sha256 } from '../passwords/known-passwords.ts';

const pods: SecretsPod[] = [];
const connections: RedisConnection[] = [];
afterEach(async () => {
  for (const connection of connections.splice(0)) connection.close();
  for (const pod of pods.splice(0)) await pod[Symbol.asyncDispose]();
});

const ALICE = 'user alice on >secret-a ~a* resetchannels -@all +get +set';
const BOB = 'user bob on >secret-b ~* resetchannels -@all +ping';

async function podWith(acl: string | undefined, more: PodOptions = {}): Promise<SecretsPod> {
  const pod = new SecretsPod({
    ...more,
    cluster: { authSecret: 'redis-auth', aclSecret: 'redis-acl', ...more.cluster },
    files: { 'redis-auth/password': 'p1', ...(acl === undefined ? {} : { 'redis-acl/acl': acl }), ...more.files },
  });
  pods.push(pod);
  await pod.start();
  await pod.pass();
  pod.sent.length = 0;
  return pod;
}

async function connect(pod: SecretsPod, credential: Credential): Promise<RedisConnection> {
  const connection = await connectRedis({ path: pod.server?.path ?? '' }, { credentials: () => [credential] });
  connections.push(connection);
  return connection;
}

const setAcl = (pod: SecretsPod, acl: string): Map<string, string | Buffer> => pod.files.set('redis-acl/acl', acl);
const aclFile = (pod: SecretsPod): string => readFileSync(join(pod.dir, 'users.acl'), 'utf8');
const writes = (pod: SecretsPod): readonly string[] => pod.sent.filter((words) => /SET|DEL|LOAD|SAVE/.test(words));

describe('S3 users of the ACL text', () => {
  test('are there from the first moment, with hashes only, and stay so', async () => {
    const pod = await podWith(`${ALICE}\n${BOB}\n`);
    expect(await pod.opens('secret-a', 'alice')).toBe(true);
    expect(pod.last).toMatchObject({ acl: { state: 'Applied', users: 2 }, problems: [] });
    expect(aclFile(pod)).toContain(`user alice on #${sha256('secret-a')} ~a* resetchannels -@all +get +set\n`);
    expect(aclFile(pod) + readFileSync(join(pod.dir, 'state/secrets.json'), 'utf8')).not.toContain('secret-');
    const trials = pod.trials.length;
    await pod.pass();
    expect(pod.sent).toEqual(['ACL LIST', 'CONFIG GET']);
    expect([pod.trials.length, pod.events]).toEqual([trials, []]);
  });

  test('A2 a change touches only whom it is about: nobody else loses a connection', async () => {
    const pod = await podWith(`${ALICE}\n${BOB}\nuser carol on >c +@all`);
    await pod.send('ACL', 'SETUSER', 'vault', 'on', '>v', '~*', '+@all');
    const bystanders = [
      await connect(pod, { user: 'bob', password: 'secret-b' }),
      await connect(pod, { user: 'vault', password: 'v' }),
      await connect(pod, { user: 'default', password: 'p1' }),
    ];
    const carol = await connect(pod, { user: 'carol', password: 'c' });
    setAcl(pod, `${BOB}\n${ALICE} +del\nuser dave on >d ~* +get`);
    await pod.pass();
    expect(writes(pod)).toEqual(['ACL SETUSER', 'ACL SETUSER', 'ACL DELUSER']);
    expect(await pod.user('alice')).toMatch(/\+del\b/);
    expect(await pod.opens('d', 'dave')).toBe(true);
    expect(await pod.user('carol')).toBeUndefined();
    await expect(carol.send('PING')).rejects.toThrow();
    expect(await Promise.all(bystanders.map((one) => one.send('PING')))).toEqual(['PONG', 'PONG', 'PONG']);
    await pod.restart();
    expect([await pod.opens('d', 'dave'), await pod.opens('c', 'carol'), await pod.opens('p1')]).toEqual([
      true,
      false,
      true,
    ]);
  });

  test('drift is put right', async () => {
    const pod = await podWith(ALICE);
    await pod.send('ACL', 'SETUSER', 'alice', '+@all');
    await pod.pass();
    expect(await pod.user('alice')).toMatch(/-@all \+[gs]et \+[gs]et$/);
    await pod.send('ACL', 'DELUSER', 'alice');
    await pod.pass();
    expect(await pod.opens('secret-a', 'alice')).toBe(true);
  });

  test('selectors, patterns and many users come out as they are', async () => {
    const many = Array.from(
      { length: 300 },
      (_, at) => `user u${at} on >pw${at} %R~x:${at}:* &c${at} +@read (~y +set)`,
    );
    const pod = await podWith(many.join('\n'));
    expect(pod.last).toMatchObject({ acl: { state: 'Applied', users: 300 } });
    setAcl(pod, many.slice(1).join('\n'));
    await pod.pass();
    expect(writes(pod)).toEqual(['ACL DELUSER']);
  });

  test('rules that one process shows are the same in another, in whatever order', async () => {
    const rules = [
      '+@read -get +config -config|set',
      '+@all -@dangerous +keys -set',
      '+acl|list +client|kill -@fast +get',
    ];
    const text = rules
      .map((words, at) => `user u${at} on ~* ${words} +zadd +append (~x +set +del -@scripting)`)
      .join('\n');
    const [one, two] = [await podWith(text), await podWith(text)];
    expect(writes(one)).toEqual([]);
    expect(aclFile(one).replace(/.*agent.*/, '')).toBe(aclFile(two).replace(/.*agent.*/, ''));
    for (const pod of [one, two]) {
      await pod.pass();
      expect(pod.sent).toEqual(['ACL LIST', 'CONFIG GET']);
    }
  });

  test('the agent is killed between Redis and its own notes: the next one ends what was begun, or takes it back', async () => {
    const pod = await podWith(ALICE);
    setAcl(pod, BOB);
    const context = pod.context();
    const stop = new Error('killed');
    const redis = {
      send: async (...words: readonly (string | Buffer)[]) => {
        if (words[1] === 'DELUSER') throw stop;
        return context.redis.send(...words);
      },
    };
    await expect(pod.step.apply({ ...context, redis })).rejects.toBe(stop);
    expect(await pod.opens('secret-b', 'bob')).toBe(true);
    pod.killAgent();
    setAcl(pod, ALICE);
    await pod.pass();
    expect([await pod.user('bob'), await pod.opens('secret-a', 'alice')]).toEqual([undefined, true]);
    setAcl(pod, BOB);
    await pod.pass();
    expect([await pod.user('alice'), await pod.opens('secret-b', 'bob')]).toEqual([undefined, true]);
  });

  test('whoever is no longer in the text leaves also a server that outlived the preparation of another start', async () => {
    const pod = await podWith(`${ALICE}\n${BOB}`);
    setAcl(pod, BOB);
    pod.killAgent();
    await pod.step.prepare(pod.prepareContext());
    await pod.pass();
    expect([await pod.user('alice'), await pod.opens('secret-b', 'bob')]).toEqual([undefined, true]);
    expect(JSON.parse(readFileSync(join(pod.dir, 'state/secrets.json'), 'utf8'))).toMatchObject({ made: ['bob'] });
  });

  test('stay when the Secret is no longer named, or its file is missing', async () => {
    const pod = await podWith(ALICE);
    pod.files.delete('redis-acl/acl');
    const report = await pod.pass();
    expect(report.problems).toEqual([
      { where: '/projected/redis-acl/acl', what: expect.stringContaining('is missing') },
    ]);
    expect(report.acl).toMatchObject({ state: 'Refused', users: 1 });
    await pod.pass();
    expect(pod.events).toEqual([expect.stringMatching(/^Warning ACLRefused: .*is missing/)]);
    pod.cluster = { ...pod.cluster, aclSecret: undefined };
    expect((await pod.pass()).acl).toMatchObject({ state: 'Applied', message: expect.stringContaining('is gone') });
    await pod.restart();
    expect(await pod.opens('secret-a', 'alice')).toBe(true);
  });
});

describe('A3 the default user of a text', () => {
  const hash = `#${sha256('p1')}`;

  test.each([
    ['without a line', ALICE, `user default on ${hash} ~* &* +@all`],
    ['with rules', 'user default on >x ~a* &* -@all +ping +psync +replconf', /^user default on #.* #.* ~a\* .*-@all/],
    ['with nopass', 'user default on nopass ~* &* +@all', `user default on ${hash} ~* &* +@all`],
  ])('%s has the passwords of its Secret', async (_, text, line) => {
    const pod = await podWith(BOB);
    setAcl(pod, text);
    expect(await pod.pass()).toMatchObject({ acl: { state: 'Applied' } });
    expect(await pod.user('default')).toMatch(line);
    expect([await pod.opens('p1'), await pod.opens('wrong')]).toEqual([true, false]);
    await pod.restart();
    expect([await pod.opens('p1'), await pod.opens('wrong')]).toEqual([true, false]);
    await pod.pass();
    setAcl(pod, BOB);
    await pod.pass();
    expect(await pod.user('default')).toBe(`user default on ${hash} ~* &* +@all`);
  });

  test('its passwords of the text count beside, and go with it; a rotation leaves them alone', async () => {
    const pod = await podWith('user default on >x ~* &* +@all');
    expect([await pod.opens('x'), await pod.opens('p1')]).toEqual([true, true]);
    pod.files.set('redis-auth/password', 'p2');
    await pod.pass();
    pod.clock.advance(60_000);
    await pod.pass();
    expect([await pod.opens('x'), await pod.opens('p1'), await pod.opens('p2')]).toEqual([true, false, true]);
    setAcl(pod, 'user default on >y ~* &* +@all');
    await pod.pass();
    expect([await pod.opens('x'), await pod.opens('y'), await pod.opens('p2')]).toEqual([false, true, true]);
  });

  test('a text that no longer names it opens nothing, where there is no other password', async () => {
    const pod = await podWith('user default on >x ~* &* +@all', { cluster: { authSecret: undefined } });
    expect([await pod.opens('x'), await pod.opens('wrong')]).toEqual([true, false]);
    setAcl(pod, ALICE);
    await pod.pass();
    expect([await pod.opens('x'), await pod.opens('wrong')]).toEqual([true, false]);
    setAcl(pod, BOB);
    await pod.restart();
    expect([await pod.opens('x'), await pod.opens('wrong')]).toEqual([true, false]);
  });
});

describe('a text that is refused', () => {
  test.each<readonly [string, string | Buffer, string]>([
    ['comment', '# my users\nuser a on', 'line 1: is a comment'],
    ['no user', `${ALICE}\nbob on >secret-b`, 'line 2: must begin with "user"'],
    ['bad rule', `${ALICE}\nuser bob on +nosuch >secret-b`, 'line 2: user bob: rule 2, +nosuch: Unknown command'],
    ['blank in a password', 'user bob on >my secret-b', 'line 1: user bob: rule 3 (a password with a blank'],
    ['no hash', 'user bob on #secret-b', 'line 1: user bob: one of its passwords: The password hash must be'],
    [
      'all at once',
      '# x\nuser a +nosuch\nuser b onn',
      'line 2: user a: rule 1, +nosuch: Unknown command or category name in ACL; line 3',
    ],
    ['twice the same', `${ALICE}\n${ALICE}`, 'line 2: names user alice again'],
    ['default off', 'user default off', 'line 1: user default is off'],
    ['default without on', 'user default ~* &* +@all', 'line 1: user default is off'],
    ['default that nobody can replicate by', 'user default on +get', 'add +ping +replconf +psync'],
    ['the login of the agent', 'user attune-agent on nopass +@all', 'the login of the agent itself'],
    ['empty', ' \n', 'is empty'],
    ['too many', Array.from({ length: 5001 }, (_, at) => `user u${at}`).join('\n'), 'has 5001 users: at most 5000'],
    ['NUL byte', 'user a on\0', 'has a NUL byte'],
    ['not UTF-8', Buffer.from([0x75, 0xff]), 'is not UTF-8'],
    ['too long', `${ALICE} ${'~x '.repeat(400_000)}`, 'bytes long: at most 1048576'],
  ])('%s: nothing changes, also not for the next start; told once', async (_, text, words) => {
    const pod = await podWith(ALICE);
    const before = [await pod.send('ACL', 'LIST'), aclFile(pod)];
    pod.files.set('redis-acl/acl', text);
    const report = await pod.pass();
    expect(report.acl).toMatchObject({ state: 'Refused', users: 1, message: expect.stringContaining(words) });
    expect(report.problems).toEqual([{ where: '/projected/redis-acl/acl', what: expect.stringContaining(words) }]);
    const trials = pod.trials.length;
    pod.killAgent();
    await pod.pass();
    expect(pod.trials.length).toBe(trials);
    expect(pod.events).toEqual([expect.stringMatching(/^Warning ACLRefused: redis-0: \/projected\/redis-acl\/acl/)]);
    expect([await pod.send('ACL', 'LIST'), aclFile(pod)]).toEqual(before);
    expect(writes(pod)).toEqual([]);
    await pod.restart();
    expect([await pod.opens('secret-a', 'alice'), await pod.opens('p1')]).toEqual([true, true]);
    expect(pod.told.join()).not.toContain('secret-');
  });

  test('does not hold up a password', async () => {
    const pod = await podWith('user a onn');
    expect(pod.last).toMatchObject({ acl: { state: 'Refused' }, credentials: { phase: 'Settled' } });
    pod.files.set('redis-auth/password', 'p2');
    await pod.pass();
    expect([await pod.opens('p1'), await pod.opens('p2')]).toEqual([true, true]);
  });

  test('a running Redis that does not take what the throw-away server took gets its users back', async () => {
    const pod = await podWith(ALICE);
    setAcl(pod, `${BOB}\nuser carol on >c +get`);
    const context = pod.context();
    const redis = {
      send: (...words: readonly (string | Buffer)[]) =>
        words[1] === 'SETUSER' && words[2] === 'carol'
          ? context.redis.send('ACL', 'SETUSER', 'carol', '+of-another-version')
          : context.redis.send(...words),
    };
    const report = await pod.step.apply({ ...context, redis });
    expect(report.acl).toMatchObject({ state: 'Refused', users: 1, message: expect.stringContaining('user carol') });
    expect(await pod.user('bob')).toBeUndefined();
    expect(await pod.opens('secret-a', 'alice')).toBe(true);
    expect(aclFile(pod)).toMatch(/^user default .*\nuser attune-agent .*\nuser alice .*\n$/);
    expect(pod.events).toEqual([expect.stringContaining('ACLRefused')]);

    expect(report.wakeAfterMs).toBe(300_000);
    pod.killAgent();
    pod.clock.advance(299_999);
    expect(await pod.pass()).toMatchObject({ acl: { state: 'Refused' }, wakeAfterMs: 1 });
    pod.clock.advance(1);
    expect((await pod.step.apply({ ...pod.context(), redis })).acl).toMatchObject({ state: 'Refused' });
    expect(pod.events).toHaveLength(1);
    pod.clock.advance(300_000);
    const { acl, wakeAfterMs } = await pod.pass();
    expect([acl, wakeAfterMs]).toEqual([{ state: 'Applied', users: 2 }, undefined]);
    expect(await pod.opens('secret-b', 'bob')).toBe(true);
  });
});

describe("a sidecar's Redis", () => {
  test('gets users live, and no text that would lock the agent out', async () => {
    const pod = await podWith(ALICE, { mode: 'sidecar' });
    expect(await pod.opens('secret-a', 'alice')).toBe(true);
    setAcl(pod, 'user default on ~* &* -@all +ping +psync +replconf +info');
    const report = await pod.pass();
    expect(report.acl?.message).toContain('add +dbsize +config|get +config|set +acl|list');
    expect(await pod.opens('secret-a', 'alice')).toBe(true);
    expect(() => aclFile(pod)).toThrow('ENOENT');
  });
});
