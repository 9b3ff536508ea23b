import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { loopbackAddress } from '../../../../../../test/support/redis-process.ts';
import { SecretsPod, shareReports } from '../../../../../../test/support/secrets-world.ts';
import { virtualClock } from '../../../../../../test/support/virtual-clock.ts';
import { until } from '../../../../../../test/support/wait.ts';
import { connectRedis, type RedisConnection } from '../../../connection/connect.ts';
import { tryLogin } from '../../../connection/try-login.ts';

const OVERLAP_MS = 60_000;
let pods: SecretsPod[] = [];
const connections: RedisConnection[] = [];
const loads: Load[] = [];

afterEach(async () => {
  for (const one of loads.splice(0)) await one.stop();
  for (const connection of connections.splice(0)) connection.close();
  for (const pod of pods.splice(0)) await pod[Symbol.asyncDispose]();
});

const pod = (at: number): SecretsPod => pods[at] as SecretsPod;
const phases = (): readonly (string | undefined)[] => pods.map(({ last }) => last?.credentials?.phase);

/** All pods run a pass each, one after the other, and each sees at once what the others have said. */
async function round(some: readonly SecretsPod[] = pods): Promise<void> {
  for (const one of some) {
    shareReports(pods);
    await one.pass();
  }
}

const rotateTo = (password: string, some: readonly SecretsPod[] = pods): void => {
  for (const one of some) one.files.set('redis-auth/password', password);
};

async function linkUp(replica: SecretsPod): Promise<boolean> {
  return String(await replica.send('INFO', 'replication')).includes('master_link_status:up');
}

/** A primary and its replicas, with the password `p1`. */
async function cluster(size: number, key: 'with a key' | 'without a key' = 'with a key'): Promise<void> {
  const clock = virtualClock(Date.parse('2026-01-01T00:00:00Z'));
  pods = Array.from({ length: size }, (_, at) => {
    const more = key === 'with a key' ? { rotationKeySecret: 'rotation' } : {};
    return new SecretsPod({
      name: `redis-${at}`,
      host: loopbackAddress(),
      clock,
      redis: { directives: [['repl-diskless-sync-delay', '0']] },
      cluster: { authSecret: 'redis-auth', overlapMs: OVERLAP_MS, ...more },
      files: { 'redis-auth/password': 'p1', 'rotation/key': 'key of this cluster' },
    });
  });
  await Promise.all(pods.map((one) => one.start()));
  await round();
  await Promise.all(pods.slice(1).map((replica) => replica.send('REPLICAOF', pod(0).host ?? '', '6379')));
  await allLinked();
}

async function allLinked(): Promise<void> {
  for (const replica of pods.slice(1))
    await until(() => linkUp(replica), { what: `${replica.name} has its link`, deadlineMs: 20_000 });
}

const opens = async (...passwords: readonly string[]): Promise<readonly string[]> => {
  const found = await Promise.all(
    pods.map(async (one) => {
      const accepted: string[] = [];
      for (const password of passwords) if (await one.opens(password)) accepted.push(password);
      return accepted.join('+');
    }),
  );
  return found;
};

interface Load {
  stop(): Promise<{ readonly logins: number; readonly failures: number }>;
}

/** Logs in again and again, to all pods in turn, and counts how often that fails. */
function load(password: string): Load {
  const count = { logins: 0, failures: 0 };
  const targets = pods.map(({ host = '' }) => ({ host, port: 6379 }));
  let goesOn = true;
  const one = async (at: number): Promise<void> => {
    const target = targets[at % targets.length] ?? { host: '', port: 0 };
    const answer = await tryLogin(target, { user: 'default', password }).catch(() => 'unreachable');
    count.logins += 1;
    if (answer !== 'accepted') count.failures += 1;
  };
  const running = (async () => {
    for (let at = 0; goesOn; at += 1) await one(at);
  })();
  const started: Load = {
    async stop() {
      goesOn = false;
      await running;
      return count;
    },
  };
  loads.push(started);
  return started;
}

describe('three pods', () => {
  beforeEach(() => cluster(3));

  test('go through all phases together; nobody is refused, no connection ends, no link breaks', async () => {
    await pod(0).send('ACL', 'SETUSER', 'vault', 'on', '>v', '~*', '+@all');
    for (const [user, password] of [
      ['default', 'p1'],
      ['vault', 'v'],
    ] as const) {
      const target = { host: pod(0).host ?? '', port: 6379 };
      connections.push(await connectRedis(target, { credentials: () => [{ user, password }] }));
    }
    const earlier = load('p1');
    rotateTo('p2', [pod(0), pod(1)]);
    await round();
    await round();
    expect(phases()).toEqual(['Accepted', 'Accepted', 'Settled']);
    expect(pod(0).last?.credentials?.message).toBe('waits for redis-2 to accept the new password');
    expect(await Promise.all(pods.map((one) => one.masterauth()))).toEqual(['p1', 'p1', 'p1']);

    rotateTo('p2');
    await round([pod(2)]);
    const newest = load('p2');
    await round([pod(1)]);
    expect(phases()).toEqual(['Accepted', 'Used', 'Used']);
    expect(pod(1).last?.credentials?.message).toBe('waits for redis-0 to use the new password');
    await round();
    expect(phases()).toEqual(['Used', 'Used', 'Used']);
    await round();
    expect(pod(1).last).toMatchObject({
      wakeAfterMs: OVERLAP_MS,
      credentials: { message: 'earlier passwords are accepted until 2026-01-01T00:01:00Z' },
    });
    expect(await earlier.stop()).toMatchObject({ failures: 0 });
    pod(0).clock.advance(OVERLAP_MS - 1);
    await round();
    expect(phases()).toEqual(['Used', 'Used', 'Used']);
    expect(await opens('p1', 'p2')).toEqual(['p1+p2', 'p1+p2', 'p1+p2']);
    pod(0).clock.advance(1);
    await round();
    expect(phases()).toEqual(['Settled', 'Settled', 'Settled']);
    expect(await opens('p1', 'p2')).toEqual(['p2', 'p2', 'p2']);
    const { logins, failures } = await newest.stop();
    expect(failures).toBe(0);
    expect(logins).toBeGreaterThan(3);

    expect(await Promise.all(pods.slice(1).map(linkUp))).toEqual([true, true]);
    expect(await Promise.all(connections.map((connection) => connection.send('PING')))).toEqual(['PONG', 'PONG']);
    await pod(0).send('CLIENT', 'KILL', 'TYPE', 'replica');
    await allLinked();
    expect(pods.flatMap(({ events }) => events)).toEqual([]);
    expect(pods.flatMap(({ told }) => told).join()).not.toMatch(/\bp[12]\b|key of this/);
  });

  test('all agents and servers are killed in each phase: every password is accepted as long as it should be', async () => {
    const killAll = async (): Promise<void> => {
      for (const one of pods) one.killAgent();
      await Promise.all(pods.map((one) => one.restart()));
    };
    rotateTo('p2', [pod(0)]);
    await round();
    await killAll();
    expect(await opens('p1', 'p2')).toEqual(['p1+p2', 'p1', 'p1']);
    rotateTo('p2');
    await killAll();
    expect(await opens('p1', 'p2')).toEqual(['p1+p2', 'p1+p2', 'p1+p2']);
    await round();
    await round();
    expect(phases()).toEqual(['Used', 'Used', 'Used']);
    await killAll();
    await round();
    expect(await opens('p1', 'p2')).toEqual(['p1+p2', 'p1+p2', 'p1+p2']);
    expect(await Promise.all(pods.map((one) => one.masterauth()))).toEqual(['p2', 'p2', 'p2']);
    pod(0).clock.advance(OVERLAP_MS);
    await round();
    await killAll();
    expect(await opens('p1', 'p2')).toEqual(['p2', 'p2', 'p2']);
    await round();
    expect(phases()).toEqual(['Settled', 'Settled', 'Settled']);
  });

  test('a second new password in the middle: all earlier ones count until the newest is settled', async () => {
    rotateTo('p2');
    await round();
    await round();
    rotateTo('p3', [pod(0), pod(2)]);
    pod(0).clock.advance(OVERLAP_MS * 2);
    await round();
    expect(phases()).toEqual(['Accepted', 'Used', 'Accepted']);
    expect(await opens('p1', 'p2', 'p3')).toEqual(['p1+p2+p3', 'p1+p2', 'p1+p2+p3']);
    rotateTo('p3');
    await round();
    await round();
    await round();
    expect(phases()).toEqual(['Used', 'Used', 'Used']);
    pod(0).clock.advance(OVERLAP_MS);
    await round();
    expect(await opens('p1', 'p2', 'p3')).toEqual(['p3', 'p3', 'p3']);
  });

  test('back to the earlier password in the middle', async () => {
    rotateTo('p2', [pod(0)]);
    await round();
    rotateTo('p1');
    await round();
    await round();
    pod(0).clock.advance(OVERLAP_MS);
    await round();
    expect(phases()).toEqual(['Settled', 'Settled', 'Settled']);
    expect(await opens('p1', 'p2')).toEqual(['p1', 'p1', 'p1']);
  });

  test('a pod that joins in the overlap starts it anew', async () => {
    rotateTo('p2');
    await round();
    await round();
    await round();
    expect(pod(0).last?.wakeAfterMs).toBe(OVERLAP_MS);
    pod(0).clock.advance(OVERLAP_MS - 1);
    shareReports(pods);
    pod(0).peers = new Map([...pod(0).peers, ['redis-3', {}]]);
    await pod(0).pass();
    expect(pod(0).last?.credentials?.message).toBe('waits for redis-3 to use the new password');
    pod(0).clock.advance(10);
    shareReports(pods);
    expect(await pod(0).pass()).toMatchObject({ wakeAfterMs: OVERLAP_MS, credentials: { phase: 'Used' } });
  });
});

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

test('7.8 a source without a password lets a replica with one in, because the user is sent along', async () => {
  await cluster(1);
  const host = loopbackAddress();
  const directives = [['protected-mode', 'no'] as const, ['repl-diskless-sync-delay', '0'] as const];
  const open = new SecretsPod({ name: 'open', host, redis: { directives } });
  pods.push(open);
  await open.start();
  await pod(0).send('REPLICAOF', host, '6379');
  await until(() => linkUp(pod(0)), { what: 'the link is up', deadlineMs: 20_000 });
});
