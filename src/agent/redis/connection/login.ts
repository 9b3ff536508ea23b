import { type Credential, type Redis, RedisRefusal } from './redis.ts';

/**
 * Tries the credentials one after the other, and tells the user of the first that counts. The user is always sent along:
 * a Redis without a password refuses a password alone.
 */
export async function logIn(redis: Redis, credentials: readonly Credential[]): Promise<string> {
  const refused: Credential[] = [];
  let code = 'NOAUTH';
  for (const credential of credentials.length === 0 ? [WITHOUT] : credentials) {
    const refusal = await refusalOf(redis, credential);
    if (!refusal) return credential.user;
    if (refusal.code === 'WRONGPASS') code = 'WRONGPASS';
    refused.push(credential);
  }
  throw new RedisRefusal(`${code} no login is accepted; tried: ${refused.map(described).join(', ')}`);
}

const WITHOUT: Credential = { user: 'default', password: undefined };

async function refusalOf(redis: Redis, { user, password }: Credential): Promise<RedisRefusal | undefined> {
  try {
    await (password === undefined ? redis.send('PING') : redis.send('AUTH', user, password));
    return undefined;
  } catch (error) {
    if (!(error instanceof RedisRefusal) || isClosedDoor(error.message)) throw error;
    // LOADING, NOPERM and their like are answers to somebody whom Redis lets in.
    return password === undefined && error.code !== 'NOAUTH' ? undefined : error;
  }
}

/** What Redis says before it closes a connection that it does not want at all, whoever it is. */
export const isClosedDoor = (words: string): boolean => /^(DENIED |ERR max number of clients)/.test(words);

const described = ({ user, password }: Credential): string =>
  password === undefined ? 'none at all' : `user ${JSON.stringify(user)} with a password`;
