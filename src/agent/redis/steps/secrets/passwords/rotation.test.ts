import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { loopbackAddress } from '../../../../../../test/support/redis-process.ts';
import {
  allLinked,
  cluster,
  linkUp,
  OVERLAP_MS,
  opens,
  phases,
  pod,
  pods,
  rotateTo,
  round,
} from '../../../../../../test/support/rotation-cluster.ts';
import { SecretsPod, shareReports } from '../../../../../../test/support/secrets-world.ts';
import { until } from '../../../../../../test/support/wait.ts';
import { connectRedis, type RedisConnection } from '../../../connection/connect.ts';
import { tryLogin } from '../../../connection/try-login.ts';

const connections: RedisConnection[] = [];
const loads: Load[] = [];

afterEach(async () => {
  for (const one of loads.splice(0)) await one.stop();
  for (const connection of connections.splice(0)) connection.close();
});

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
