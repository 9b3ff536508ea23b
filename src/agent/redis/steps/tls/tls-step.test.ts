import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { clusterView } from '../../../../../test/support/cluster-view.ts';
import { makeRedisIntermediate, makeRedisLeaf, tlsFiles } from '../../../../../test/support/redis-certificates.ts';
import {
  begin,
  DAY_MS,
  first,
  other,
  pod,
  root,
  second,
  served,
  writes,
} from '../../../../../test/support/tls-step-world.ts';
import { connectRedis } from '../../connection/connect.ts';
import { CertificatesUnusable } from './prepare.ts';

const versions = (): Promise<readonly string[]> => readdir(join(pod.settings.paths.stateDir, 'tls'));

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
  beforeEach(begin);

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
