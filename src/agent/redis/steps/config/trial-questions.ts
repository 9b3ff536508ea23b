import type { Redis } from '../../connection/redis.ts';
import { RedisRefusal } from '../../connection/redis.ts';
import type { Directive } from '../step.ts';
import { readIdentity, readParameters } from './running-server.ts';

export interface TrialAnswer {
  readonly parameters: ReadonlyMap<string, string>;
  readonly version: string;
  /** Why a server with these directives would not do, though it has started. */
  readonly problem: string | undefined;
}

/** Asks a throw-away server what it makes of its directives. */
export async function askTrial(
  redis: Redis,
  directives: readonly Directive[],
  names: readonly string[],
): Promise<TrialAnswer> {
  const { version } = await readIdentity(redis);
  const parameters = await unlessRefused(() => readParameters(redis, names), new Map());
  const problem = directives.some(([name]) => name === 'bind') ? await listeningProblem(redis) : undefined;
  return { parameters, version, problem };
}

/** CONFIG may be renamed: then nothing can be read. */
async function unlessRefused<T>(ask: () => Promise<T>, otherwise: T): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof RedisRefusal) return otherwise;
    throw error;
  }
}

const ATTEMPTS = 3;

/** A throw-away server has no port: whether Redis can listen on its addresses shows only with one. */
async function listeningProblem(redis: Redis): Promise<string | undefined> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    // Somebody may have this port, but hardly all three.
    const port = 20_000 + Math.floor(Math.random() * 40_000);
    try {
      await redis.send('CONFIG', 'SET', 'port', String(port));
      return undefined;
    } catch (error) {
      if (!(error instanceof RedisRefusal)) throw error;
    }
  }
  return 'Redis cannot listen on these addresses: not each of them is one of this pod';
}
