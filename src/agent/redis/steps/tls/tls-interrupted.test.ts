import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { makeRedisLeaf, tlsFiles } from '../../../../../test/support/redis-certificates.ts';
import {
  begin,
  first,
  other,
  pod,
  root,
  running,
  second,
  served,
  writes,
} from '../../../../../test/support/tls-step-world.ts';
import { RedisUnreachable } from '../../connection/redis.ts';

describe('whatever happens meanwhile', () => {
  beforeEach(begin);

  it('killed before CONFIG SET: the next agent does it', async () => {
    await pod.mount(tlsFiles(second, root));
    pod.intercept('CONFIG SET', () => Promise.reject(new RedisUnreachable('killed')));
    await expect(pod.apply()).rejects.toBeInstanceOf(RedisUnreachable);
    pod.restartAgent();
    expect(await pod.apply()).toMatchObject({ rotated: true, tls: { leaf: second.fingerprint } });
  });

  it('killed after CONFIG SET, before the proof: the next agent proves and tells it', async () => {
    await pod.mount(tlsFiles(second, root));
    pod.intercept('CONFIG SET', async (pass) => {
      await pass();
      throw new RedisUnreachable('killed');
    });
    await expect(pod.apply()).rejects.toBeInstanceOf(RedisUnreachable);
    expect(await served()).toBe(second.fingerprint);
    pod.restartAgent();
    expect(await pod.apply()).toMatchObject({ rotated: true, tls: { leaf: second.fingerprint } });
    expect(pod.events).toHaveLength(1);
  });

  it('the same, and Redis is killed too: it starts with what was proven', async () => {
    await pod.mount(tlsFiles(second, root));
    pod.intercept('CONFIG SET', async (pass) => {
      await pass();
      throw new RedisUnreachable('killed');
    });
    await expect(pod.apply()).rejects.toBeInstanceOf(RedisUnreachable);
    pod.restartAgent();
    await pod.start();
    expect(await served()).toBe(first.fingerprint);
    expect(await pod.apply()).toMatchObject({ rotated: true, tls: { leaf: second.fingerprint } });
  });

  it('somebody tells Redis other files: it has ours again, without an event', async () => {
    const { tlsDir } = pod.settings.paths;
    await pod.redis.send(
      'CONFIG',
      'SET',
      'tls-cert-file',
      join(tlsDir, 'tls.crt'),
      'tls-key-file',
      join(tlsDir, 'tls.key'),
    );
    expect(await pod.apply()).toMatchObject({ rotated: false, tls: { state: 'Applied' } });
    expect([writes().length, pod.events]).toEqual([1, []]);
    await pod.apply();
    expect(writes()).toHaveLength(1);
  });

  it('nobody can connect: nothing is told to Redis that could not be proven', async () => {
    await pod.mount(tlsFiles(second, root));
    await pod.redis.send('CONFIG', 'SET', 'maxclients', '1');
    await expect(pod.apply()).rejects.toBeInstanceOf(RedisUnreachable);
    expect(writes()).toEqual([]);
    await pod.redis.send('CONFIG', 'SET', 'maxclients', '100');
    expect(await pod.apply()).toMatchObject({ rotated: true });
  });

  it('nobody can connect after the command: the former files are put back, and it is tried again', async () => {
    const before = await running();
    await pod.mount(tlsFiles(second, root));
    pod.intercept('CONFIG SET', async (pass) => {
      await pod.redis.send('CONFIG', 'SET', 'maxclients', '1');
      return await pass();
    });
    await expect(pod.apply()).rejects.toBeInstanceOf(RedisUnreachable);
    expect(await running()).toBe(before);
    await pod.redis.send('CONFIG', 'SET', 'maxclients', '100');
    expect(await pod.apply()).toMatchObject({ rotated: true, tls: { leaf: second.fingerprint } });
  });

  it('a Redis without a TLS port: certificates wait for its next start', async () => {
    await pod.redis.send('CONFIG', 'SET', 'tls-port', '0');
    const { tls } = await pod.apply();
    expect(tls).toMatchObject({ state: 'Waiting' });
    expect(tls?.message).toContain('runs without a TLS port');
    expect(writes()).toEqual([]);
  });

  it('our own connections trust what Redis trusts, and what is mounted', async () => {
    await pod.mount(tlsFiles(await makeRedisLeaf(other), other));
    const bundle = String(pod.step.trustedCa());
    expect([root, other].map(({ cert }) => bundle.replaceAll('\n', '').includes(cert.replaceAll('\n', '')))).toEqual([
      true,
      true,
    ]);
    await rm(pod.settings.paths.stateDir, { recursive: true });
    await rm(pod.settings.paths.tlsDir, { recursive: true });
    pod.restartAgent();
    expect(pod.step.trustedCa()).toBeUndefined();
  });

  it('no private key is in the state file', async () => {
    expect(await readFile(join(pod.settings.paths.stateDir, 'tls.json'), 'utf8')).not.toContain('PRIVATE');
  });
});
