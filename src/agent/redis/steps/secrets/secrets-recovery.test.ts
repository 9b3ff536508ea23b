import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { aclFile, podWith, withPassword } from '../../../../../test/support/secrets-pods.ts';

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
