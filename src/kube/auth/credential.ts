import { type Clock, systemClock } from '../../runtime/clock.ts';

/** What somebody else gave us to show who we are. */
export interface Credential {
  /** The value of the Authorization header. */
  readonly header?: string;
  readonly pair?: { readonly cert: string; readonly key: string };
  /** Milliseconds since the epoch. */
  readonly expiresAt?: number;
}

/** A credential that is asked for again when it has expired or was refused. */
export interface CachedCredential {
  authorization(refused?: boolean): string | undefined | Promise<string | undefined>;
  /** The client certificate and its key, where the credential has them. */
  pair(): Credential['pair'];
}

// Calls that were under way are refused one after the other; what answers the first refusal answers them all.
const WAVE_MS = 10_000;

/** However many calls need a new credential at once, it is obtained once. */
export function renewing(obtain: () => Promise<Credential>, clock: Clock = systemClock): CachedCredential {
  let current: Credential | undefined;
  /** By our own clock, of which the issuer knows nothing. */
  let goodUntil = Number.NEGATIVE_INFINITY;
  let underWay: Promise<Credential> | undefined;
  let waveEndsAt = Number.NEGATIVE_INFINITY;

  const renew = async (refused: boolean): Promise<Credential> => {
    try {
      current = await obtain();
      goodUntil = clock.now() + (current.expiresAt ?? Number.POSITIVE_INFINITY) - clock.wall();
      if (refused) waveEndsAt = clock.now() + WAVE_MS;
      return current;
    } finally {
      underWay = undefined;
    }
  };
  const isGood = (refused: boolean): boolean => clock.now() < goodUntil && (!refused || clock.now() < waveEndsAt);

  return {
    authorization(refused = false) {
      if (!underWay && isGood(refused)) return current?.header;
      underWay ??= renew(refused);
      return underWay.then(({ header }) => header);
    },
    pair: () => current?.pair,
  };
}
