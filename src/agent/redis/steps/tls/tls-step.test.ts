import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  makeRedisAuthority,
  makeRedisIntermediate,
  makeRedisLeaf,
  type TestAuthority,
  type TestPair,
  tlsFiles,
} from '../../../../../test/support/redis-certificates.ts';
import { clusterView, type TlsPod, tlsPod } from '../../../../../test/support/redis-tls-pod.ts';
import { connectRedis } from '../../connection/connect.ts';
import { RedisRefusal, RedisUnreachable } from '../../connection/redis.ts';
import { lookAt } from './handshake.ts';
import { CertificatesUnusable } from './prepare.ts';

const DAY_MS = 86_400_000;
let root: TestAuthority;
let other: TestAuthority;
let first: TestPair;
let second: TestPair;
let pod: TlsPod;

beforeAll(async () => {
  root = await makeRedisAuthority();
  other = await makeRedisAuthority();
  first = await makeRedisLeaf(root);
  second = await makeRedisLeaf(root);
});
beforeEach(async () => {
  pod = await tlsPod();
  await pod.mount(tlsFiles(first, root));
});
afterEach(() => pod[Symbol.asyncDispose]());

const served = async (): Promise<string> => (await lookAt({ host: pod.host, port: 6379 })).leaf;
const writes = (): readonly string[] => pod.sent.filter((line) => !/^(CONFIG GET|INFO)\b/.test(line));
const versions = (): Promise<readonly string[]> => readdir(join(pod.settings.paths.stateDir, 'tls'));
const running = async (): Promise<string> => String((await pod.redis.send('CONFIG', 'GET', 'tls-cert-file')) ?? '');

describe('the start', () => {
  it('names the files of a copy that only this user may read', async () => {
    const directives = await pod.prepare();
    expect(directives.map(([key]) => key)).toEqual(['tls-cert-file', 'tls-key-file', 'tls-ca-cert-file']);
    for (const [, path] of directives) expect((await stat(path)).mode & 0o777).toBe(0o600);
    const folder = join(String(directives[0]?.[1]), '..');
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
    expect(await readdir(folder)).toEqual(['ca.crt', 'tls.crt', 'tls.key']);
  });

  it('T2: the first pass notes what is served: no CONFIG SET, no event', async () => {
    await pod.start();
    const report = await pod.apply();
    expect(report).toMatchObject({ rotated: false, problems: [] });
    expect(report.tls).toMatchObject({
      state: 'Applied',
      leaf: first.fingerprint,
      signedBy: root.fingerprint,
      trusted: [root.fingerprint],
      phase: 'Settled',
    });
    expect(report.tls?.message).toBeUndefined();
    expect([writes(), pod.events]).toEqual([[], []]);
  });

  it('does nothing without TLS', async () => {
    pod.cluster = clusterView({ tls: false });
    expect(await pod.prepare()).toEqual([]);
    expect(await pod.apply()).toEqual({
      tls: undefined,
      rotated: false,
      problems: [],
    });
  });

  it('T1: the three files; fails with all that is wrong with them where there never were certificates, and warns once', async () => {
    await pod.mount({ 'tls.crt': first.cert });
    const failure = await pod.prepare().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(CertificatesUnusable);
    expect((failure as CertificatesUnusable).problems.map(({ where }) => where)).toEqual([
      join(pod.settings.paths.tlsDir, 'ca.crt'),
      join(pod.settings.paths.tlsDir, 'tls.key'),
    ]);
    pod.restartAgent();
    await expect(pod.prepare()).rejects.toThrow('tls.key is missing');
    expect(pod.events).toHaveLength(1);
    await pod.mount(tlsFiles(first, root));
    expect(await pod.prepare()).toHaveLength(3);
  });

  it('takes what Redis had last: without mounted files, and with bad ones', async () => {
    await pod.start();
    const before = await pod.prepare();
    await pod.mount({ 'tls.crt': 'x' });
    expect(await pod.prepare()).toEqual(before);
    await rm(pod.settings.paths.tlsDir, { recursive: true });
    pod.restartAgent();
    await pod.start();
    expect(await pod.apply()).toMatchObject({ tls: { state: 'Refused', leaf: first.fingerprint, phase: 'Settled' } });
    expect(await served()).toBe(first.fingerprint);
  });

  it.each([
    ['tls.crt', 'damaged'],
    ['tls.key', 'damaged'],
    ['ca.crt', ''],
  ])('a copy whose %s was damaged is made anew from the files', async (file, content) => {
    const [[, path = ''] = []] = await pod.prepare();
    await writeFile(join(path, '..', file), content);
    await pod.start();
    expect(await pod.apply()).toMatchObject({ tls: { state: 'Applied', leaf: first.fingerprint } });
    await expect(readFile(join(path, '..', file), 'utf8')).resolves.toContain('-----BEGIN');
  });

  it('a start with the last good file, of earlier certificates, is put right', async () => {
    await pod.start();
    const lastGood = await pod.prepare();
    await pod.apply();
    await pod.mount(tlsFiles(second, root));
    await pod.apply();
    await pod.prepare();
    await pod.start(lastGood);
    pod.events.length = 0;
    expect(await pod.apply()).toMatchObject({ rotated: false, tls: { leaf: second.fingerprint } });
    expect([await served(), pod.events]).toEqual([second.fingerprint, []]);
  });
});

describe('a new leaf', () => {
  beforeEach(async () => {
    await pod.start();
    await pod.apply();
    pod.sent.length = 0;
  });

  it('A4, T3, T4: one CONFIG SET of all three, proven by a handshake, then the event', async () => {
    await pod.mount(tlsFiles(second, root));
    const report = await pod.apply();
    expect(report).toMatchObject({
      rotated: true,
      tls: { state: 'Applied', leaf: second.fingerprint, phase: 'Settled' },
    });
    expect(writes()).toHaveLength(1);
    expect(writes()[0]).toMatch(/^CONFIG SET tls-cert-file \S+ tls-key-file \S+ tls-ca-cert-file \S+$/);
    expect(await served()).toBe(second.fingerprint);
    expect(pod.events).toEqual([
      expect.stringMatching(/^Normal CertificatesRotated redis-0 serves certificate [0-9a-f]{12}, valid until 20\S+Z$/),
    ]);
    expect(pod.events[0]).toContain(second.fingerprint.slice(0, 12));
  });

  it('nothing is done again while nothing changes, also by the next agent', async () => {
    await pod.mount(tlsFiles(second, root));
    await pod.apply();
    const { events, sent } = pod;
    events.length = 0;
    sent.length = 0;
    const handshakes = async (): Promise<string> =>
      /total_connections_received:\d+/.exec(String(await pod.redis.send('INFO', 'stats')))?.[0] ?? '';
    const before = await handshakes();
    for (let pass = 0; pass < 5; pass += 1) await pod.apply();
    pod.restartAgent();
    await pod.apply();
    await pod.mount(tlsFiles(second, root));
    await pod.apply();
    expect([events, writes(), await handshakes()]).toEqual([[], [], before]);
  });

  it('only copies that may be needed stay: what is served, what Redis was started with', async () => {
    for (const leaf of [second, await makeRedisLeaf(root), await makeRedisLeaf(root)]) {
      await pod.mount(tlsFiles(leaf, root));
      await pod.apply();
    }
    expect(await versions()).toHaveLength(2);
    await pod.start();
    await pod.apply();
    await mkdir(join(pod.settings.paths.stateDir, 'tls/new-0badcafe'));
    pod.restartAgent();
    await pod.apply();
    expect(await versions()).toHaveLength(1);
  });

  it('connections that are open stay, new ones get the new leaf', async () => {
    const target = { host: pod.host, port: 6379, tls: { ca: Buffer.from(root.cert) } };
    const client = await connectRedis(target, { credentials: () => [{ user: 'default', password: undefined }] });
    await pod.mount(tlsFiles(second, root));
    await pod.apply();
    expect(await client.send('PING')).toBe('PONG');
    client.close();
  });

  it('other intermediates for the same leaf are served too', async () => {
    const lower = await makeRedisIntermediate(root);
    const deep = await makeRedisLeaf(lower);
    await pod.mount(tlsFiles(deep, root));
    expect(await pod.apply()).toMatchObject({
      rotated: true,
      tls: { leaf: deep.fingerprint, signedBy: root.fingerprint },
    });
    await pod.mount({ ...tlsFiles(deep, root), 'tls.crt': `${deep.cert}${other.cert}` });
    expect(await pod.apply()).toMatchObject({ rotated: true, tls: { leaf: deep.fingerprint } });
  });

  it('is refused where replicas could not show it, and only told where there are none', async () => {
    const narrow = await makeRedisLeaf(root, { usages: ['server'] });
    await pod.mount(tlsFiles(narrow, root));
    const report = await pod.apply({ 'redis-1': {} });
    expect(report.tls).toMatchObject({ state: 'Refused', leaf: first.fingerprint });
    expect(report.tls?.message).toContain('is not for clients, but replicas show it to their primary');
    expect(await pod.apply()).toMatchObject({ rotated: true, tls: { state: 'Applied', leaf: narrow.fingerprint } });
  });

  it('expires: told a week before, and when it has; Redis goes on with it', async () => {
    pod.clock.advance(84 * DAY_MS);
    expect((await pod.apply()).tls?.message).toContain('expires soon');
    pod.clock.advance(7 * DAY_MS);
    const { tls, problems } = await pod.apply();
    expect(tls).toMatchObject({ state: 'Applied', leaf: first.fingerprint });
    expect(tls?.message).toContain('the served certificate has expired');
    expect(problems[0]?.what).toContain('the certificate has expired');
    expect([writes(), pod.events]).toEqual([[], []]);
  });
});

describe('bad certificates', () => {
  beforeEach(async () => {
    await pod.start();
    await pod.apply();
    pod.sent.length = 0;
  });

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
    const early = await makeRedisLeaf(root, { fromMs: Date.now() - 60_000 });
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

describe('whatever happens meanwhile', () => {
  beforeEach(async () => {
    await pod.start();
    await pod.apply();
    pod.sent.length = 0;
  });

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
