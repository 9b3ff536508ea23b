import type { Change } from '../../../../domain/redis/config/danger.ts';
import { type Redis, RedisRefusal } from '../../connection/redis.ts';

/** Sets parameters, all at once if Redis lets it be, else each for itself. Gives the words of those that it refuses. */
export async function setLive(redis: Redis, changes: readonly Change[]): Promise<ReadonlyMap<string, string>> {
  if (changes.length === 0) return new Map();
  const words = await refusalOf(redis, changes);
  const [first] = changes;
  if (words === undefined || !first) return new Map();
  if (changes.length === 1) return new Map([[first.name, words]]);
  const refused = new Map<string, string>();
  for (const change of changes) {
    const own = await refusalOf(redis, [change]);
    if (own !== undefined) refused.set(change.name, own);
  }
  return refused;
}

async function refusalOf(redis: Redis, changes: readonly Change[]): Promise<string | undefined> {
  try {
    await redis.send('CONFIG', 'SET', ...changes.flatMap(({ name, text }) => [name, text]));
    return undefined;
  } catch (error) {
    // Any other code says nothing about the values: the agent may not log in, or may not use CONFIG.
    if (error instanceof RedisRefusal && error.code === 'ERR') return error.message;
    throw error;
  }
}
