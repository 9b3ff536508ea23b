import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import {
  cluster,
  OVERLAP_MS,
  opens,
  phases,
  pod,
  pods,
  rotateTo,
  round,
} from '../../../../../../test/support/rotation-cluster.ts';
import { SecretsPod } from '../../../../../../test/support/secrets-world.ts';

describe('a key that is named, but missing', () => {
  beforeEach(() => cluster(2));
  const WHERE = 'a new password is accepted, but not used before there is a key: /projected/rotation/key';

  test.each([
    ['missing', undefined, `${WHERE} is missing`],
    ['empty', '', `${WHERE} is empty`],
  ])('%s: a rotation stays where it is, and goes on when it is there', async (_, content, words) => {
    const before = pod(0).last?.credentials?.id;
    for (const one of pods) {
      if (content === undefined) one.files.delete('rotation/key');
      else one.files.set('rotation/key', content);
    }
    rotateTo('p2');
    await round();
    await round();
    pod(0).clock.advance(OVERLAP_MS);
    await round();
    expect(phases()).toEqual(['Accepted', 'Accepted']);
    expect(await opens('p1', 'p2')).toEqual(['p1+p2', 'p1+p2']);
    expect(pod(0).last?.credentials).toMatchObject({ id: before, message: expect.stringContaining(words) });
    expect(pod(0).last?.credentials?.message).not.toContain('alone');
    for (const one of pods) one.files.set('rotation/key', 'key of this cluster');
    await round();
    await round();
    await round();
    for (const one of pods) one.files.delete('rotation/key');
    pod(0).clock.advance(OVERLAP_MS);
    await round();
    expect([phases(), await opens('p1')]).toEqual([
      ['Used', 'Used'],
      ['p1', 'p1'],
    ]);
    for (const one of pods) one.files.set('rotation/key', 'key of this cluster');
    await round();
    pod(0).clock.advance(OVERLAP_MS);
    await round();
    expect([phases(), await opens('p1', 'p2')]).toEqual([
      ['Settled', 'Settled'],
      ['p2', 'p2'],
    ]);
  });

  test('the first password of a pod is settled without it', async () => {
    const one = new SecretsPod({
      cluster: { authSecret: 'redis-auth', rotationKeySecret: 'rotation' },
      files: { 'redis-auth/password': 'p1' },
    });
    pods.push(one);
    await one.start();
    const { credentials } = await one.pass();
    expect(credentials).toMatchObject({ phase: 'Settled', message: expect.stringContaining(WHERE) });
    expect([await one.opens('p1'), await one.masterauth()]).toEqual([true, 'p1']);
  });
});

describe('alone', () => {
  beforeEach(() => cluster(2, 'without a key'));

  test('a replica uses a new password when its primary accepts it, and says that it is alone', async () => {
    rotateTo('p2', [pod(1)]);
    await round();
    expect(pod(1).last).toMatchObject({ wakeAfterMs: 2000, credentials: { id: undefined, phase: 'Accepted' } });
    expect(pod(1).last?.credentials?.message).toMatch(/:6379 does not accept the new password yet; rotates alone/);
    expect(await pod(1).masterauth()).toBe('p1');
    rotateTo('p2');
    await round();
    expect(phases()).toEqual(['Used', 'Used']);
    expect(await pod(1).masterauth()).toBe('p2');
    pod(0).clock.advance(OVERLAP_MS);
    await round();
    expect(await opens('p1', 'p2')).toEqual(['p2', 'p2']);
  });

  test('others are told that a password is used only after Redis has it for its primary', async () => {
    rotateTo('p2');
    const context = pod(0).context();
    const redis = {
      send: async (...words: readonly (string | Buffer)[]) => {
        if (words[0] === 'CONFIG' && words[1] === 'SET') throw new Error('killed');
        return context.redis.send(...words);
      },
    };
    await expect(pod(0).step.apply({ ...context, redis })).rejects.toThrow('killed');
    const kept = readFileSync(join(pod(0).dir, 'state/secrets.json'), 'utf8');
    expect(JSON.parse(kept)).toMatchObject({ rotation: { phase: 'Accepted' } });
    pod(0).killAgent();
    expect(await pod(0).pass()).toMatchObject({ credentials: { phase: 'Used' } });
    expect(await pod(0).masterauth()).toBe('p2');
  });

  test('a primary that does not answer is told, without any password', async () => {
    await pod(0).server?.stop();
    rotateTo('p2', [pod(1)]);
    const report = await pod(1).pass();
    expect(report.credentials?.message).toMatch(/could not be tried at the primary at 127\.[\d.]+:6379/);
    expect(report.credentials?.phase).toBe('Accepted');
  });

  test('the agent is killed in the overlap, and the wall clock is set back: the overlap is only longer', async () => {
    rotateTo('p2', [pod(0)]);
    await pod(0).pass();
    pod(0).killAgent();
    pod(0).clock.jump(-OVERLAP_MS * 10);
    expect(await pod(0).pass()).toMatchObject({ wakeAfterMs: OVERLAP_MS, credentials: { phase: 'Used' } });
    pod(0).killAgent();
    pod(0).clock.jump(OVERLAP_MS * 10);
    pod(0).clock.advance(OVERLAP_MS);
    expect(await pod(0).pass()).toMatchObject({ credentials: { phase: 'Settled' } });
  });
});
