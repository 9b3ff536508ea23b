import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { makeRedisAuthority, makeRedisLeaf, tlsFiles } from '../../../../../test/support/redis-certificates.ts';
import {
  begin,
  DAY_MS,
  first,
  other,
  pod,
  root,
  running,
  second,
  served,
  writes,
} from '../../../../../test/support/tls-step-world.ts';
import { RedisRefusal } from '../../connection/redis.ts';

describe('bad certificates', () => {
  beforeEach(begin);

  it.each([
    ['without key', async () => ({ ...tlsFiles(second, root), 'tls.key': undefined }), 'tls.key is missing'],
    ['with another key', async () => ({ ...tlsFiles(second, root), 'tls.key': first.key }), 'does not belong'],
    ['of another authority', async () => tlsFiles(second, other), 'leads to no root in ca.crt'],
    ['garbage as authority', async () => ({ ...tlsFiles(second, root), 'ca.crt': '\0' }), 'holds no certificate'],
    ['expired', async () => tlsFiles(await makeRedisLeaf(root, { untilMs: Date.now() - 60_000 }), root), 'has expired'],
  ] as const)('%s: nothing reaches Redis, one Warning, and the next start is as before', async (_, files, words) => {
    await pod.mount(await files());
    const { tls, problems, rotated } = await pod.apply();
    expect(tls).toMatchObject({
      state: 'Refused',
      leaf: first.fingerprint,
      trusted: [root.fingerprint],
      phase: 'Settled',
    });
    expect(tls?.message).toContain(words);
    expect([problems.length, rotated]).toEqual([1, false]);
    pod.clock.advance(60_000);
    await pod.apply();
    pod.restartAgent();
    await pod.apply();
    expect(writes()).toEqual([]);
    expect(pod.events).toEqual([
      expect.stringContaining(`Warning CertificatesRefused redis-0: ${pod.settings.paths.tlsDir}`),
    ]);
    expect(JSON.stringify([tls, pod.events])).not.toContain('PRIVATE');
    await pod.start();
    expect(await served()).toBe(first.fingerprint);
    await pod.mount(tlsFiles(second, root));
    expect(await pod.apply()).toMatchObject({ rotated: true, problems: [], tls: { state: 'Applied' } });
  });

  it('the same bad content again after a good one is warned of again', async () => {
    for (const files of [{ 'tls.crt': 'x' }, tlsFiles(second, root), { 'tls.crt': 'x' }]) {
      await pod.mount(files);
      await pod.apply();
    }
    expect(pod.events.filter((event) => event.includes('CertificatesRefused'))).toHaveLength(2);
  });

  it('not valid yet: it is told when, and then it is served', async () => {
    const early = await makeRedisLeaf(root, { fromMs: pod.clock.wall() - 60_000 });
    await pod.mount(tlsFiles(early, root));
    pod.clock.jump(-90_000);
    const { tls, wakeAfterMs = 0 } = await pod.apply();
    expect(tls?.state).toBe('Refused');
    expect(tls?.message).toContain('is valid only from');
    expect(Math.abs(wakeAfterMs - 30_000)).toBeLessThan(5_000);
    pod.clock.advance(wakeAfterMs);
    expect(await pod.apply()).toMatchObject({ rotated: true, tls: { state: 'Applied', leaf: early.fingerprint } });
  });

  it('what Redis refuses leaves everything as it was, and is not tried again at once unless it changes', async () => {
    await pod.mount(tlsFiles(second, root));
    pod.intercept('CONFIG SET', () =>
      Promise.reject(
        new RedisRefusal(
          "ERR CONFIG SET failed (possibly related to argument 'tls-cert-file') - Unable to update TLS configuration. Check server logs.",
        ),
      ),
    );
    const { tls } = await pod.apply();
    expect(tls).toMatchObject({ state: 'Refused', leaf: first.fingerprint });
    expect(tls?.message).toContain('Redis refuses: Unable to update TLS configuration. Check server logs.');
    pod.restartAgent();
    await pod.apply();
    expect([writes().length, pod.events.length]).toEqual([1, 1]);
    await pod.mount(tlsFiles(await makeRedisLeaf(root), root));
    expect(await pod.apply()).toMatchObject({ rotated: true, tls: { state: 'Applied' } });
  });

  it('what Redis refuses is tried again after 5 minutes: it may have been short of something', async () => {
    await pod.mount(tlsFiles(second, root));
    const refuse = () => Promise.reject(new RedisRefusal('ERR Unable to update TLS configuration.'));
    pod.intercept('CONFIG SET', refuse);
    expect(await pod.apply()).toMatchObject({ tls: { state: 'Refused' }, wakeAfterMs: 300_000 });
    pod.restartAgent();
    pod.clock.advance(299_999);
    const { tls, wakeAfterMs } = await pod.apply();
    expect([tls?.state, wakeAfterMs, writes().length]).toEqual(['Refused', 1, 1]);
    expect(tls?.message).toContain('other files are tried at once, these again after 5 minutes');
    pod.clock.advance(1);
    pod.intercept('CONFIG SET', refuse);
    expect(await pod.apply()).toMatchObject({ tls: { state: 'Refused' }, wakeAfterMs: 300_000 });
    expect([writes().length, pod.events.length]).toEqual([2, 1]);
    pod.clock.jump(-60_000);
    const last = await pod.apply();
    expect(last).toMatchObject({ rotated: true, tls: { state: 'Applied', leaf: second.fingerprint } });
    expect(last.wakeAfterMs).toBeUndefined();
  });

  it('what was refused stays refused when Redis has to be told again what it had', async () => {
    await pod.mount(tlsFiles(second, root));
    pod.intercept('CONFIG SET', () => Promise.reject(new RedisRefusal('ERR no')));
    await pod.apply();
    const { tlsDir } = pod.settings.paths;
    const strange = ['tls-cert-file', join(tlsDir, 'tls.crt'), 'tls-key-file', join(tlsDir, 'tls.key')];
    await pod.redis.send('CONFIG', 'SET', ...strange);
    expect((await pod.apply()).tls).toMatchObject({ state: 'Refused', leaf: first.fingerprint });
    await pod.apply();
    expect([writes().length, await served()]).toEqual([2, first.fingerprint]);
  });

  it('a handshake that shows another leaf: the former files are put back', async () => {
    const before = await running();
    await pod.mount(tlsFiles(second, root));
    pod.intercept('CONFIG SET', () => Promise.resolve('OK'));
    const { tls, rotated } = await pod.apply();
    expect([tls?.state, rotated]).toEqual(['Refused', false]);
    expect(tls?.message).toContain('a handshake shows another certificate');
    expect(writes()).toHaveLength(2);
    expect(await running()).toBe(before);
    expect(await served()).toBe(first.fingerprint);
  });

  it('a leaf that no client would accept: the former files are put back', async () => {
    // By the agent's clock it is still valid; by OpenSSL's it is not.
    pod.clock.jump(-60 * DAY_MS);
    const ancient = await makeRedisAuthority({ fromMs: Date.now() - 100 * DAY_MS });
    const past = await makeRedisLeaf(ancient, { fromMs: Date.now() - 90 * DAY_MS, untilMs: Date.now() - DAY_MS });
    const before = await running();
    await pod.mount(tlsFiles(past, ancient));
    const { tls } = await pod.apply();
    expect(tls?.message).toContain('the chain is refused: CERT_HAS_EXPIRED');
    expect([await served(), await running(), writes().length]).toEqual([first.fingerprint, before, 2]);
    pod.clock.advance(600_000);
    expect((await pod.apply()).wakeAfterMs).toBeUndefined();
    expect(writes()).toHaveLength(2); // clients would see it
  });
});
