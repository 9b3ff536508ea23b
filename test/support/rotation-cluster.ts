import { afterEach } from 'vitest';
import { loopbackAddress } from './redis-process.ts';
import { SecretsPod, shareReports } from './secrets-world.ts';
import { virtualClock } from './virtual-clock.ts';
import { until } from './wait.ts';

export const OVERLAP_MS = 60_000;
/** The pods of the test that runs; they end with it. */
export const pods: SecretsPod[] = [];

afterEach(async () => {
  for (const pod of pods.splice(0)) await pod[Symbol.asyncDispose]();
});

export const pod = (at: number): SecretsPod => pods[at] as SecretsPod;
export const phases = (): readonly (string | undefined)[] => pods.map(({ last }) => last?.credentials?.phase);

/** All pods run a pass each, one after the other, and each sees at once what the others have said. */
export async function round(some: readonly SecretsPod[] = pods): Promise<void> {
  for (const one of some) {
    shareReports(pods);
    await one.pass();
  }
}

export const rotateTo = (password: string, some: readonly SecretsPod[] = pods): void => {
  for (const one of some) one.files.set('redis-auth/password', password);
};

export async function linkUp(replica: SecretsPod): Promise<boolean> {
  return String(await replica.send('INFO', 'replication')).includes('master_link_status:up');
}

/** A primary and its replicas, with the password `p1`. */
export async function cluster(size: number, key: 'with a key' | 'without a key' = 'with a key'): Promise<void> {
  const clock = virtualClock(Date.parse('2026-01-01T00:00:00Z'));
  const made = Array.from({ length: size }, (_, at) => {
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
  pods.push(...made);
  await Promise.all(pods.map((one) => one.start()));
  await round();
  await Promise.all(pods.slice(1).map((replica) => replica.send('REPLICAOF', pod(0).host ?? '', '6379')));
  await allLinked();
}

export async function allLinked(): Promise<void> {
  for (const replica of pods.slice(1))
    await until(() => linkUp(replica), { what: `${replica.name} has its link`, deadlineMs: 20_000 });
}

/** Of some passwords those that each pod accepts. */
export const opens = async (...passwords: readonly string[]): Promise<readonly string[]> => {
  const found = await Promise.all(
    pods.map(async (one) => {
      const accepted: string[] = [];
      for (const password of passwords) if (await one.opens(password)) accepted.push(password);
      return accepted.join('+');
    }),
  );
  return found;
};
