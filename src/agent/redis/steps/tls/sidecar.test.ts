import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  makeRedisAuthority,
  makeRedisLeaf,
  type TestAuthority,
  type TestPair,
  tlsFiles,
} from '../../../../../test/support/redis-certificates.ts';
import { type TlsPod, tlsPod } from '../../../../../test/support/redis-tls-pod.ts';
import { RedisRefusal } from '../../connection/redis.ts';
import type { Directive } from '../step.ts';
import { lookAt } from './handshake.ts';

let root: TestAuthority;
let next: TestAuthority;
let first: TestPair;
let second: TestPair;
let moved: TestPair;
let pod: TlsPod;

beforeAll(async () => {
  root = await makeRedisAuthority();
  next = await makeRedisAuthority();
  first = await makeRedisLeaf(root);
  second = await makeRedisLeaf(root);
  moved = await makeRedisLeaf(next);
});
beforeEach(async () => {
  pod = await tlsPod('redis-0', 'sidecar');
  await pod.mount(tlsFiles(first, root));
  await pod.start(mounted());
});
afterEach(() => pod[Symbol.asyncDispose]());

const mounted = (): readonly Directive[] => [
  ['tls-cert-file', join(pod.settings.paths.tlsDir, 'tls.crt')],
  ['tls-key-file', join(pod.settings.paths.tlsDir, 'tls.key')],
  ['tls-ca-cert-file', join(pod.settings.paths.tlsDir, 'ca.crt')],
];
const served = async (): Promise<string> => (await lookAt({ host: pod.host, port: 6379 })).leaf;
const writes = (): readonly string[] => pod.sent.filter((line) => !/^(CONFIG GET|INFO)\b/.test(line));

describe('a Redis that somebody else has started with the mounted files', () => {
  it('T2: is noted, after each of its starts: no CONFIG SET, no event', async () => {
    expect(await pod.apply()).toMatchObject({ rotated: false, tls: { state: 'Applied', leaf: first.fingerprint } });
    await pod.apply();
    await pod.start(mounted());
    expect(await pod.apply()).toMatchObject({ rotated: false, tls: { trusted: [root.fingerprint] } });
    expect([writes(), pod.events]).toEqual([[], []]);
  });

  it('A4: a new authority is trusted beside the old one, though the mounted files have only the new', async () => {
    await pod.apply();
    await pod.mount(tlsFiles(moved, next));
    const { tls } = await pod.apply({ 'redis-1': { tls: { state: 'Applied', trusted: [root.fingerprint] } } });
    expect(tls).toMatchObject({ state: 'Waiting', phase: 'Trusted', leaf: first.fingerprint });
    expect(await served()).toBe(first.fingerprint);
  });

  it('started again in the middle of that: has the certificates that the others trust', async () => {
    await pod.apply();
    await pod.mount(tlsFiles(moved, next));
    const peers = { 'redis-1': { tls: { state: 'Applied', trusted: [root.fingerprint] } } } as const;
    await pod.apply(peers);
    await pod.start(mounted());
    expect(await served()).toBe(moved.fingerprint);
    const { tls, rotated } = await pod.apply(peers);
    expect([tls?.phase, rotated, await served()]).toEqual(['Trusted', false, first.fingerprint]);
  });

  it('served something else before the agent came: the files count at once', async () => {
    await pod.mount(tlsFiles(second, root));
    expect(await pod.apply()).toMatchObject({ rotated: true, tls: { leaf: second.fingerprint, phase: 'Settled' } });
    expect([await served(), pod.events.length]).toEqual([second.fingerprint, 1]);
  });

  it('has bad files: what it serves is told, and nothing done', async () => {
    await pod.mount({ ...tlsFiles(second, root), 'tls.key': first.key });
    const { tls, rotated } = await pod.apply();
    expect([tls?.state, tls?.leaf, tls?.trusted, rotated]).toEqual(['Refused', first.fingerprint, undefined, false]);
    pod.restartAgent();
    await pod.apply();
    expect([writes(), pod.events.length]).toEqual([[], 1]);
    await pod.mount(tlsFiles(second, root));
    expect(await pod.apply()).toMatchObject({ rotated: true, tls: { state: 'Applied', leaf: second.fingerprint } });
  });
});

describe('certificates that Redis has read, but should not have', () => {
  it('started again with mounted files that are refused: has those from before again', async () => {
    await pod.apply();
    await pod.mount(tlsFiles(await makeRedisLeaf(root, { usages: ['server'] }), root));
    await pod.start(mounted());
    const { tls, rotated } = await pod.apply({ 'redis-1': {} });
    expect([tls?.state, tls?.leaf, rotated]).toEqual(['Refused', first.fingerprint, false]);
    expect(await served()).toBe(first.fingerprint);
  });

  it('a failed proof puts the former certificates back, not what is mounted now', async () => {
    await pod.apply();
    await pod.mount(tlsFiles(second, root));
    pod.intercept('CONFIG SET', () => Promise.resolve('OK'));
    expect((await pod.apply()).tls?.state).toBe('Refused');
    expect([writes().length, await served()]).toEqual([2, first.fingerprint]);
  });
});

/** As a Redis in another container does: our copies are not there for it. */
function hideCopies(): void {
  pod.intercept('CONFIG SET', async (pass) => {
    const copies = join(pod.settings.paths.stateDir, 'tls');
    for (const digest of await readdir(copies)) await writeFile(join(copies, digest, 'tls.crt'), '');
    return await pass();
  });
}

describe('a Redis that cannot read our copies', () => {
  beforeEach(async () => {
    await pod.apply();
    hideCopies();
    await pod.mount(tlsFiles(moved, next));
  });

  it('reads the mounted files again, at once; the message says what that costs', async () => {
    const { tls, rotated } = await pod.apply({ 'redis-1': {} });
    expect(rotated).toBe(true);
    expect(tls).toMatchObject({
      state: 'Applied',
      leaf: moved.fingerprint,
      trusted: [next.fingerprint],
      phase: 'Settled',
    });
    expect(tls?.message).toContain('an earlier authority cannot be trusted beside a new one');
    expect(writes()).toHaveLength(2);
    expect(writes()[1]).toContain(join(pod.settings.paths.tlsDir, 'tls.crt'));
    expect([await served(), pod.events.length]).toEqual([moved.fingerprint, 1]);
  });

  it('the choice is remembered, by the next agent too', async () => {
    await pod.apply();
    pod.restartAgent();
    pod.sent.length = 0;
    await pod.apply();
    expect(writes()).toEqual([]);
    await pod.mount(tlsFiles(second, root));
    expect(await pod.apply()).toMatchObject({ rotated: true, tls: { leaf: second.fingerprint } });
    expect(writes()).toHaveLength(1);
  });

  it('starts again with other mounted files: they are noted', async () => {
    await pod.apply();
    pod.sent.length = 0;
    pod.events.length = 0;
    await pod.mount(tlsFiles(second, root));
    await pod.start(mounted());
    expect(await pod.apply()).toMatchObject({ rotated: false, tls: { leaf: second.fingerprint } });
    expect([writes(), pod.events]).toEqual([[], []]);
  });

  it('starts again with mounted files that are refused: what it serves is told', async () => {
    await pod.apply();
    pod.sent.length = 0;
    const narrow = await makeRedisLeaf(root, { usages: ['server'] });
    await pod.mount(tlsFiles(narrow, root));
    await pod.start(mounted());
    const { tls, problems } = await pod.apply({ 'redis-1': {} });
    expect([tls?.state, tls?.leaf, tls?.trusted, problems.length]).toEqual([
      'Refused',
      narrow.fingerprint,
      undefined,
      1,
    ]);
    expect(writes()).toEqual([]);
  });

  it('bad files afterwards leave it alone', async () => {
    await pod.apply();
    pod.sent.length = 0;
    await pod.mount({ 'tls.crt': 'x' });
    expect(await pod.apply()).toMatchObject({ tls: { state: 'Refused', leaf: moved.fingerprint } });
    expect(writes()).toEqual([]);
  });
});

it('a Redis that refuses the mounted files too: refused, and all is as before', async () => {
  await pod.apply();
  await pod.mount(tlsFiles(second, root));
  const refuse = (): Promise<never> => Promise.reject(new RedisRefusal('ERR Unable to update TLS configuration.'));
  pod.intercept('CONFIG SET', () => {
    pod.intercept('CONFIG SET', refuse);
    return refuse();
  });
  expect(await pod.apply()).toMatchObject({ rotated: false, tls: { state: 'Refused', leaf: first.fingerprint } });
  await pod.apply();
  expect([writes().length, await served()]).toEqual([2, first.fingerprint]);
});
