import { afterEach } from 'vitest';
import { connectRedis, type RedisConnection } from '../../src/agent/redis/connection/connect.ts';
import type { Credential } from '../../src/agent/redis/connection/redis.ts';
import { podWith as startedPod } from './secrets-pods.ts';
import type { PodOptions, SecretsPod } from './secrets-world.ts';

const connections: RedisConnection[] = [];
afterEach(() => {
  for (const connection of connections.splice(0)) connection.close();
});

export const ALICE = 'user alice on >secret-a ~a* resetchannels -@all +get +set';
export const BOB = 'user bob on >secret-b ~* resetchannels -@all +ping';

/** A pod with the password `p1` and this text, after its first pass. */
export async function podWith(acl: string | undefined, more: PodOptions = {}): Promise<SecretsPod> {
  const pod = await startedPod({
    ...more,
    cluster: { authSecret: 'redis-auth', aclSecret: 'redis-acl', ...more.cluster },
    files: { 'redis-auth/password': 'p1', ...(acl === undefined ? {} : { 'redis-acl/acl': acl }), ...more.files },
  });
  await pod.pass();
  pod.sent.length = 0;
  return pod;
}

export async function connect(pod: SecretsPod, credential: Credential): Promise<RedisConnection> {
  const connection = await connectRedis({ path: pod.server?.path ?? '' }, { credentials: () => [credential] });
  connections.push(connection);
  return connection;
}

export const setAcl = (pod: SecretsPod, acl: string): Map<string, string | Buffer> =>
  pod.files.set('redis-acl/acl', acl);
