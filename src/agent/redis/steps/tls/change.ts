import { RedisRefusal, RedisUnreachable } from '../../connection/redis.ts';
import type { StepContext } from '../step.ts';
import { HandshakeRefused, lookAt, proveBy, type Shown } from './handshake.ts';
import { certificatesIn, isForClients } from './material/certificates.ts';
import type { TlsPaths, VersionParts } from './material/versions.ts';
import { tellPaths } from './running-tls.ts';
import type { TlsWorld } from './tls-state.ts';

/** A change of the three files, as Redis is told of it. */
export interface Change {
  readonly paths: TlsPaths;
  /** What Redis will find there. */
  readonly parts: VersionParts;
  readonly leaf: string;
  /** What to put back if it does not work out. */
  readonly former: TlsPaths;
}

/** `words`: why not; Redis has what it had. `byRedis`: Redis has not even taken it. */
export type Changed =
  | { readonly ok: true; readonly shown: Shown }
  | { readonly ok: false; readonly byRedis: boolean; readonly words: string };

/** Tells Redis, and proves by a new connection that it is so. If not, the former files are put back. */
export async function change(world: TlsWorld<StepContext>, wanted: Change): Promise<Changed> {
  const { redis } = world.context;
  // Whoever cannot be reached now could prove nothing afterwards.
  await lookAt(world.target());
  try {
    await tellPaths(redis, wanted.paths);
  } catch (error) {
    if (!(error instanceof RedisRefusal)) throw error;
    return { ok: false, byRedis: true, words: `Redis refuses: ${ownWords(error)}` };
  }
  try {
    const shown = await prove(world, wanted);
    if (shown.leaf === wanted.leaf) return { ok: true, shown };
    await tellPaths(redis, wanted.former);
    return { ok: false, byRedis: false, words: `a handshake shows another certificate: ${shown.leaf}` };
  } catch (error) {
    if (error instanceof RedisUnreachable) await tellPaths(redis, wanted.former).catch(() => undefined);
    if (!(error instanceof HandshakeRefused)) throw error;
    await tellPaths(redis, wanted.former);
    return { ok: false, byRedis: false, words: error.message };
  }
}

/** With the certificate as a client's where it may be one: so the next connection of a replica is proven too. */
async function prove(world: TlsWorld<StepContext>, { parts }: Change): Promise<Shown> {
  const [leaf] = certificatesIn(parts.cert).certificates;
  const hasExpired = leaf !== undefined && leaf.validToDate.getTime() <= world.context.clock.wall();
  const client = leaf && isForClients(leaf) && !hasExpired ? { cert: parts.cert, key: parts.key } : undefined;
  return await proveBy(world.target(), { ca: parts.ca, client, hasExpired });
}

/** Without the preamble, which names an argument by chance. */
const ownWords = ({ message }: RedisRefusal): string => message.replace(/^ERR (?:CONFIG SET failed.*? - )?/, '');
