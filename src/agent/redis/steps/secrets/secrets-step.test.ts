import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { AUTH, aclFile, podWith, withPassword, writes } from '../../../../../test/support/secrets-pods.ts';
import type { PodOptions } from '../../../../../test/support/secrets-world.ts';
import { connectRedis } from '../../connection/connect.ts';
import { sha256 } from './passwords/known-passwords.ts';

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
