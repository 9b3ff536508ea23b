import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ALICE, BOB, connect, podWith, setAcl } from '../../../../../../test/support/acl-pods.ts';
import { aclFile, writes } from '../../../../../../test/support/secrets-pods.ts';
import { sha256 } from '../passwords/known-passwords.ts';

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
