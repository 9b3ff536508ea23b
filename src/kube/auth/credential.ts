import { type Clock, systemClock } from '../../runtime/clock.ts';

/** A credential from an exec plugin or an OIDC issuer. */
export interface Credential {
  /** The value of the Authorization header. */
  readonly header?: string;
  readonly certificate?: { readonly cert: string; readonly key: string };
  /** Milliseconds since the epoch. */
  readonly expiresAt?: number;
}

/** A credential that is kept until it has expired or was refused. */
export interface CachedCredential {
  authorization(refused?: boolean): string | undefined | Promise<string | undefined>;
  /** The client certificate and its key, if the credential has them. */
  certificate(): Credential['certificate'];
}

// Calls in flight are refused one after the other. The credential that the first refusal brought is meant for all of them:
// refusals within this time do not bring another one.
const REFUSALS_MS = 10_000;

/** Calls that need a new credential at the same time share one `obtain`. */
export function cachedCredential(obtain: () => Promise<Credential>, clock: Clock = systemClock): CachedCredential {
  let current: Credential | undefined;
  /** By our monotonic clock. */
  let validUntil = Number.NEGATIVE_INFINITY;
  let pending: Promise<Credential> | undefined;
  let ignoreRefusalsUntil = Number.NEGATIVE_INFINITY;

  const renew = async (refused: boolean): Promise<Credential> => {
    try {
      current = await obtain();
      validUntil = clock.now() + (current.expiresAt ?? Number.POSITIVE_INFINITY) - clock.wall();
      if (refused) ignoreRefusalsUntil = clock.now() + REFUSALS_MS;
      return current;
    } finally {
      pending = undefined;
    }
  };
  const isValid = (refused: boolean): boolean =>
    clock.now() < validUntil && (!refused || clock.now() < ignoreRefusalsUntil);

  return {
    authorization(refused = false) {
      if (!pending && isValid(refused)) return current?.header;
      pending ??= renew(refused);
      return pending.then(({ header }) => header);
    },
    certificate: () => current?.certificate,
  };
}
