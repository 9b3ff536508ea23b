import { DEFAULT_USER } from '../../../../../domain/redis/acl/wanted-users.ts';
import { parseInfo, replicationOf } from '../../../../../domain/redis/info.ts';
import type { Redis } from '../../../connection/redis.ts';
import type { RedisTarget } from '../../../connection/target.ts';
import { tryLogin } from '../../../connection/try-login.ts';

/** How a Redis logs in to its primary. */
export interface PrimaryLogin {
  readonly user: string;
  readonly password: string;
}

export async function readPrimaryLogin(redis: Redis): Promise<PrimaryLogin> {
  const answer = await redis.send('CONFIG', 'GET', 'masterauth', 'masteruser');
  const words = Array.isArray(answer) ? answer.map(String) : [];
  const settings = new Map(words.flatMap((word, at) => (at % 2 === 0 ? [[word, words[at + 1] ?? ''] as const] : [])));
  return { user: settings.get('masteruser') ?? '', password: settings.get('masterauth') ?? '' };
}

/**
 * One command, and only where something differs. The user is set along: with a password alone a Redis never gets in to a
 * primary that asks for none.
 */
export async function setPrimaryLogin(redis: Redis, now: PrimaryLogin, password: string): Promise<boolean> {
  if (now.password === password && (password === '' || now.user === DEFAULT_USER)) return false;
  const user = password === '' ? [] : ['masteruser', DEFAULT_USER];
  await redis.send('CONFIG', 'SET', 'masterauth', password, ...user);
  return true;
}

const TRIAL_MS = 2000;

/** Why this password does not open the primary of a replica, or undefined where it does, and where there is none. */
export async function primaryRefusal(
  redis: Redis,
  password: string,
  upstreamTarget: (host: string, port: number) => RedisTarget,
): Promise<string | undefined> {
  const { master } = replicationOf(parseInfo(String(await redis.send('INFO', 'replication'))));
  if (!master) return undefined;
  const where = `the primary at ${master.host}:${master.port}`;
  try {
    const answer = await tryLogin(upstreamTarget(master.host, master.port), { user: DEFAULT_USER, password }, TRIAL_MS);
    return answer === 'accepted' ? undefined : `${where} does not accept the new password yet`;
  } catch (error) {
    return `the new password could not be tried at ${where}: ${error instanceof Error ? error.message : String(error)}`;
  }
}
