import { connectRedis } from './connect.ts';
import { type Credential, RedisRefusal } from './redis.ts';
import type { RedisTarget } from './target.ts';

/** Whether a Redis lets somebody in, by a connection of its own. Rejects where that cannot be known. */
export async function tryLogin(
  target: RedisTarget,
  credential: Credential,
  timeoutMs?: number,
): Promise<'accepted' | 'refused'> {
  try {
    const connection = await connectRedis(target, { credentials: () => [credential], timeoutMs });
    connection.close();
    return 'accepted';
  } catch (error) {
    if (error instanceof RedisRefusal && ['WRONGPASS', 'NOAUTH'].includes(error.code)) return 'refused';
    throw error;
  }
}
