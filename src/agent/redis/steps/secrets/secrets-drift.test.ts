import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { aclFile, podWith, withPassword, writes } from '../../../../../test/support/secrets-pods.ts';
import { until } from '../../../../../test/support/wait.ts';

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
