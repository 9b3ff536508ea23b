import { createHash, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { renderStartFile, StartFileError } from '../../../domain/redis/start-file.ts';
import { type Credential, type Redis, RedisRefusal } from '../connection/redis.ts';
import { freePort } from './ports.ts';
import { cover, secretsOf } from './throw-away/start-words.ts';
import { withThrowAway } from './throw-away/throw-away.ts';
import { sweepOnce } from './throw-away/trial-folder.ts';
import type { Trial, TrialResult, TryServer } from './trial.ts';

export interface TryServerOptions {
  /** The program that is started. */
  readonly redisServer: string;
  readonly connect: (
    target: { readonly path: string },
    options: { readonly credentials: () => readonly Credential[] },
  ) => Promise<Redis & { close(): void }>;
}

/** Proves directives on throw-away servers. */
export function createTryServer({ redisServer, connect }: TryServerOptions): TryServer {
  return async <T>(trial: Trial, ask: (redis: Redis) => Promise<T>): Promise<TrialResult<T>> => {
    await sweepOnce();
    const { directives, acl, credential } = withOwnUser(trial);
    const forCluster = await clusterLines(trial);
    const startFile = (folder: string): string =>
      renderStartFile([
        // Whatever is given wins over these two, so that it can be read back.
        ['save', ''],
        ['appendonly', 'no'],
        ...directives,
        ...forCluster,
        ...(acl === undefined ? [] : [['aclfile', join(folder, 'users.acl')] as const]),
      ]);
    const result = await refusalsToldOf(() =>
      withThrowAway({ redisServer, startFile, acl }, async (path) => {
        const redis = await connect({ path }, { credentials: () => [credential] }).catch(lockedOut);
        try {
          return await ask(redis);
        } finally {
          redis.close();
        }
      }),
    );
    return result.ok ? result : { ok: false, words: cover(result.words, secretsOf(trial.directives, trial.acl)) };
  };
}

/** It came up, and with these directives lets nobody in. */
class LockedOut extends Error {}

function lockedOut(error: unknown): never {
  throw error instanceof RedisRefusal ? new LockedOut(error.message, { cause: error }) : error;
}

/** What cannot even be written into a start file, or closes the door, is refused like what Redis refuses. */
async function refusalsToldOf<T>(run: () => Promise<TrialResult<T>>): Promise<TrialResult<T>> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof StartFileError || error instanceof LockedOut) return { ok: false, words: error.message };
    throw error;
  }
}

interface Entry {
  readonly directives: Trial['directives'];
  readonly acl: string | undefined;
  readonly credential: Credential;
}

/** Whatever passwords the trial sets, and though its default user is off: the one who asks has a user of his own. */
function withOwnUser({ directives, acl }: Trial): Entry {
  const has = (...keys: readonly string[]): boolean => directives.some(([key]) => keys.includes(key.toLowerCase()));
  const anybody = { user: 'default', password: undefined };
  if (acl === undefined && (has('aclfile') || !has('requirepass', 'user'))) {
    return { directives, acl, credential: anybody };
  }
  const credential = { user: `trial-${randomBytes(8).toString('hex')}`, password: randomBytes(16).toString('hex') };
  const hash = createHash('sha256').update(credential.password).digest('hex');
  const rules = `${credential.user} on #${hash} ~* &* +@all`;
  if (acl !== undefined) return { directives, acl: `${acl}\nuser ${rules}\n`, credential };
  return { directives: [...directives, ['user', rules]], acl, credential };
}

/** A node of a cluster has a second port, and a file of its own: they must be nobody else's. */
async function clusterLines({ directives }: Trial): Promise<Trial['directives']> {
  const enabled = directives.findLast(([key]) => key.toLowerCase() === 'cluster-enabled')?.[1];
  if (enabled?.toLowerCase() !== 'yes') return [];
  return [
    ['bind', '127.0.0.1'],
    ['cluster-port', String(await freePort())],
    ['cluster-config-file', 'nodes.conf'],
  ];
}
