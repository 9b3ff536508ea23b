import { describe, expect, test } from 'vitest';
import { ALICE, BOB, podWith, setAcl } from '../../../../../../test/support/acl-pods.ts';
import { aclFile, writes } from '../../../../../../test/support/secrets-pods.ts';

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
