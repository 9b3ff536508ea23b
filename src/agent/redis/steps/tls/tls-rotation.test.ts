import { rm } from 'node:fs/promises';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  makeRedisAuthority,
  makeRedisLeaf,
  type TestAuthority,
  type TestPair,
  tlsFiles,
} from '../../../../../test/support/redis-certificates.ts';
import { type TlsPod, tlsPod } from '../../../../../test/support/redis-tls-pod.ts';
import { until } from '../../../../../test/support/wait.ts';
import type { InstanceEntry } from '../../../../domain/redis/cluster-view.ts';
import { connectRedis, type RedisConnection } from '../../connection/connect.ts';
import { proveBy } from './handshake.ts';
import type { TlsReport } from './report.ts';

const OVERLAP_MS = 60_000;
const NOBODY = [{ user: 'default', password: undefined }];
let old: TestAuthority;
let next: TestAuthority;
/** Certificates of clients. */
let ofOld: TestPair;
let ofNext: TestPair;
let primary: TlsPod;
let replica: TlsPod;
let entries: Record<string, InstanceEntry>;

beforeAll(async () => {
  old = await makeRedisAuthority();
  next = await makeRedisAuthority();
  ofOld = await makeRedisLeaf(old);
  ofNext = await makeRedisLeaf(next);
});

beforeEach(async () => {
  primary = await tlsPod('redis-0');
  replica = await tlsPod('redis-1');
  entries = {};
  for (const pod of [primary, replica]) {
    await pod.mount(tlsFiles(await makeRedisLeaf(old), old));
    await pod.start();
  }
  await pass(primary);
  await pass(replica);
});
afterEach(async () => {
  await primary[Symbol.asyncDispose]();
  await replica[Symbol.asyncDispose]();
});

/** A pass of a pod that knows what the others have last told. */
async function pass(pod: TlsPod): Promise<TlsReport> {
  const { [pod.name]: own, ...peers } = entries;
  const report = await pod.apply(peers);
  entries[pod.name] = { ...own, tls: report.tls };
  return report;
}

async function replicate(): Promise<void> {
  await replica.redis.send('REPLICAOF', primary.host, '6379');
  await linkIsUp();
}

const linkIsUp = (): Promise<true> =>
  until(async () => String(await replica.redis.send('INFO', 'replication')).includes('master_link_status:up'), {
    what: 'the replica is linked to its primary',
    deadlineMs: 20_000,
  });

/** How often a replica has begun to follow the primary. */
const syncs = async (): Promise<number> =>
  [...String(await primary.redis.send('INFO', 'stats')).matchAll(/sync_(?:full|partial_ok):(\d+)/g)]
    .map(([, count]) => Number(count))
    .reduce((sum, count) => sum + count, 0);

/** Cuts the link: it comes up again only if both servers accept each other's certificates now. */
async function linkComesUpAgain(): Promise<void> {
  const before = await syncs();
  await replica.redis.send('CLIENT', 'KILL', 'TYPE', 'master');
  await until(async () => (await syncs()) > before, { what: 'the replica follows again', deadlineMs: 20_000 });
  await linkIsUp();
}

/** Which clients get in: each trusts one authority, and may show a certificate of one. */
async function admitted(pod: TlsPod): Promise<readonly string[]> {
  const target = { host: pod.host, port: 6379 };
  const clients = {
    'trusts old': { ca: old.cert },
    'trusts next': { ca: next.cert },
    'shows old': { ca: `${old.cert}${next.cert}`, client: ofOld },
    'shows next': { ca: `${old.cert}${next.cert}`, client: ofNext },
  };
  const names: string[] = [];
  for (const [name, proof] of Object.entries(clients)) {
    await proveBy(target, proof).then(
      () => names.push(name),
      () => undefined,
    );
  }
  return names;
}

describe('a new authority', () => {
  it('is trusted together with the old one before any new leaf is served, and no two pods ever refuse each other', async () => {
    await replicate();
    const leaves = { primary: await makeRedisLeaf(next), replica: await makeRedisLeaf(next) };
    await primary.mount(tlsFiles(leaves.primary, next));
    let report = await pass(primary);
    expect(report.tls).toMatchObject({ state: 'Waiting', phase: 'Trusted', signedBy: old.fingerprint });
    expect(report.tls?.trusted).toEqual([old.fingerprint, next.fingerprint].sort());
    expect(report.tls?.message).toContain('waits for redis-1');
    expect(primary.events.at(-1)).toMatch(/^Normal CertificatesRotated redis-0 goes on serving .* trusts authority/);
    expect(await admitted(primary)).toEqual(['trusts old', 'shows old', 'shows next']);
    await linkComesUpAgain();

    await replica.mount(tlsFiles(leaves.replica, next));
    report = await pass(replica);
    expect(report.tls).toMatchObject({ phase: 'Served', leaf: leaves.replica.fingerprint });
    expect(report.tls?.message).toContain('waits for redis-0');
    await linkComesUpAgain();

    report = await pass(primary);
    expect(report).toMatchObject({ tls: { state: 'Waiting', phase: 'Served', leaf: leaves.primary.fingerprint } });
    expect(report.wakeAfterMs).toBe(OVERLAP_MS);
    expect(report.tls?.message).toContain('the earlier authority is trusted until');
    expect(await admitted(primary)).toEqual(['trusts next', 'shows old', 'shows next']);
    await linkComesUpAgain();

    await pass(replica);
    primary.clock.advance(OVERLAP_MS - 1);
    expect(await pass(primary)).toMatchObject({ rotated: false, wakeAfterMs: 1 });
    primary.clock.advance(1);
    report = await pass(primary);
    expect(report).toMatchObject({
      rotated: true,
      tls: { state: 'Applied', phase: 'Settled', trusted: [next.fingerprint] },
    });
    expect(report.tls?.message).toBeUndefined();
    expect(primary.events.at(-1)).toContain('no longer trusts authority');
    expect(await admitted(primary)).toEqual(['trusts next', 'shows next']);
    await linkComesUpAgain();
    replica.clock.advance(OVERLAP_MS);
    expect(await pass(replica)).toMatchObject({ tls: { phase: 'Settled', trusted: [next.fingerprint] } });
    expect([primary.events.length, replica.events.length]).toEqual([3, 2]);
  });

  it('under load: the link stays up, no connection is cut, no command and no handshake fails', async () => {
    await replicate();
    const load = await startLoad();
    const before = await syncs();
    await primary.mount(tlsFiles(await makeRedisLeaf(next), next));
    await pass(primary);
    await load.more();
    await replica.mount(tlsFiles(await makeRedisLeaf(next), next));
    for (const pod of [replica, primary, replica]) {
      await pass(pod);
      await load.more();
    }
    for (const pod of [primary, replica]) {
      pod.clock.advance(OVERLAP_MS);
      expect((await pass(pod)).tls?.phase).toBe('Settled');
      await load.more();
    }
    expect(await load.end()).toEqual([]);
    expect(await syncs()).toBe(before);
    await linkIsUp();
  });
});

/** Clients on the primary, some with one connection all the time, one with a new one for each command. */
async function startLoad() {
  const tls = { ca: Buffer.from(`${old.cert}${next.cert}`) };
  const target = { host: primary.host, port: 6379, tls };
  const connect = (): Promise<RedisConnection> => connectRedis(target, { credentials: () => NOBODY });
  const failures: string[] = [];
  let isOver = false;
  let done = 0;
  const runs = [...Array(4).keys()].map(async (client) => {
    const kept = client < 3 ? await connect() : undefined;
    while (!isOver) {
      try {
        const connection = kept ?? (await connect());
        await connection.send('INCR', 'counter');
        if (!kept) connection.close();
        done += 1;
      } catch (error) {
        failures.push(String(error));
        break;
      }
    }
    kept?.close();
  });
  return {
    /** Goes on for a while. */
    async more(): Promise<void> {
      const enough = done + 200;
      await until(() => done >= enough || failures.length > 0, { what: 'the load goes on' });
    },
    async end(): Promise<readonly string[]> {
      isOver = true;
      await Promise.all(runs);
      return failures;
    },
  };
}

describe('killed with -9, agent and Redis, in each phase: the same certificates, no command, no event', () => {
  const phases = ['Trusted', 'Served', 'Settled'] as const;

  it.each(phases)('%s', async (phase) => {
    const leaf = await makeRedisLeaf(next);
    await primary.mount(tlsFiles(leaf, next));
    await pass(primary);
    const trusting = { state: 'Applied', trusted: [old.fingerprint, next.fingerprint] } as const;
    if (phase !== 'Trusted') {
      entries['redis-1'] = { tls: { ...trusting, signedBy: next.fingerprint } };
      await pass(primary);
    }
    if (phase === 'Settled') primary.clock.advance(OVERLAP_MS);
    const before = (await pass(primary)).tls;
    expect(before?.phase).toBe(phase);
    primary.restartAgent();
    await primary.start();
    primary.sent.length = 0;
    primary.events.length = 0;
    const clients = {
      Trusted: ['trusts old', 'shows old', 'shows next'],
      Served: ['trusts next', 'shows old', 'shows next'],
    };
    expect(await admitted(primary)).toEqual({ ...clients, Settled: ['trusts next', 'shows next'] }[phase]);
    expect((await pass(primary)).tls).toEqual(before);
    expect([primary.sent.filter((line) => line.startsWith('CONFIG SET')), primary.events]).toEqual([[], []]);
    if (phase !== 'Served') return;
    primary.clock.advance(OVERLAP_MS);
    expect((await pass(primary)).tls).toMatchObject({ phase: 'Settled', trusted: [next.fingerprint] });
  });
});

describe('what cannot go its way', () => {
  it('the leaf expires while another pod does not trust the new authority: the new one is served', async () => {
    await primary.mount(tlsFiles(await makeRedisLeaf(next, { untilMs: Date.now() + 200 * 86_400_000 }), next));
    const { wakeAfterMs } = await pass(primary);
    expect(wakeAfterMs).toBe(86_400_000);
    expect((await pass(primary)).tls?.phase).toBe('Trusted');
    primary.clock.advance(100 * 86_400_000);
    // By then its root has expired too: one that lasts longer has come in between.
    const lasting = await makeRedisAuthority({ untilMs: Date.now() + 300 * 86_400_000 });
    const leaf = await makeRedisLeaf(lasting, { untilMs: Date.now() + 200 * 86_400_000 });
    await primary.mount(tlsFiles(leaf, lasting));
    expect((await pass(primary)).tls).toMatchObject({ phase: 'Served', leaf: leaf.fingerprint });
  });

  it('the copy of the old leaf is lost: the new one is served, and Redis goes on', async () => {
    await rm(`${primary.settings.paths.stateDir}/tls`, { recursive: true });
    const leaf = await makeRedisLeaf(next);
    await primary.mount(tlsFiles(leaf, next));
    expect((await pass(primary)).tls).toMatchObject({ state: 'Applied', phase: 'Settled', leaf: leaf.fingerprint });
  });

  it('the old files come back before the new leaf is served: the new authority is dropped again', async () => {
    const leaf = await makeRedisLeaf(old);
    await primary.mount(tlsFiles(await makeRedisLeaf(next), next));
    await pass(primary);
    await primary.mount(tlsFiles(leaf, old));
    expect((await pass(primary)).tls).toMatchObject({ phase: 'Served', leaf: leaf.fingerprint });
    primary.clock.advance(OVERLAP_MS);
    expect((await pass(primary)).tls).toMatchObject({ phase: 'Settled', trusted: [old.fingerprint] });
  });
});
