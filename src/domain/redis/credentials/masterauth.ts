import type { Rotation } from './rotation.ts';

export interface MasterauthFacts {
  /** What Redis has now, in clear and by its SHA-256. */
  readonly current: string;
  readonly currentDigest: string;
  /** The Secret with the password of a source outside of the cluster, if one is named; its password if that is known. */
  readonly upstream: { readonly password: string | undefined } | undefined;
  /** A Secret with a password of this cluster is named. */
  readonly needsPassword: boolean;
  readonly rotation: Rotation | undefined;
  /** In clear, of those passwords that this process has seen. */
  readonly textOf: (digest: string | undefined) => string | undefined;
}

/**
 * The one password with which this Redis is to log in to its primary; undefined: it stays as it is. A new password is used
 * only after everybody accepts it; a Redis that was started just now knows none, and takes the best there is.
 */
export function masterauthOf(facts: MasterauthFacts): string | undefined {
  const { upstream, rotation, textOf } = facts;
  if (upstream) return upstream.password;
  if (!rotation) return facts.needsPassword ? undefined : '';
  const newest = textOf(rotation.accepted.at(-1));
  if (rotation.phase === 'Used' || rotation.phase === 'Settled') return newest;
  if (facts.current !== '' && rotation.accepted.includes(facts.currentDigest)) return undefined;
  return (
    rotation.accepted
      .slice(0, -1)
      .map(textOf)
      .findLast((text) => text !== undefined) ?? newest
  );
}
