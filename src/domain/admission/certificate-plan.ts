/** When a certificate was made and until when it is valid; milliseconds since the epoch by the server's clock. */
export interface Validity {
  readonly madeMs: number;
  readonly notAfterMs: number;
}

/** What the Secret holds, reduced to what decides about the next step. */
export interface Standing {
  /** The authorities in the bundle, oldest first; never none. */
  readonly authorities: readonly Validity[];
  readonly leaf: Validity & {
    /** Which of the authorities signed it. */
    readonly by: number;
    /** Whether it is for every host by which it is reached. */
    readonly fits: boolean;
  };
}

/**
 * `start`: a new authority and a new leaf at once, because what is there is good for nothing.
 * `leaf`: a new leaf of authority `by`; authorities before `keepFrom` leave the bundle.
 * `authority`: the next one joins the bundle, and signs nothing yet.
 */
export type CertificateStep =
  | { readonly step: 'start' }
  | {
      readonly step: 'leaf';
      readonly by: number;
      readonly keepFrom: number;
      readonly because: 'due' | 'hosts' | 'authority';
    }
  | { readonly step: 'authority' }
  | { readonly step: 'wait'; readonly untilMs: number };

/** How long an authority is in the bundle before it signs: until then every API server has heard of it. */
export const SPREAD_MS = 60_000;
/** Lives of a leaf in the life of an authority. */
export const AUTHORITY_LIVES = 4;

/**
 * What is to be done now about the certificates, or until when nothing is; `lifeMs` is how long a leaf is to live.
 *
 * Invariant: a leaf is only ever signed by an authority that has been in the bundle for SPREAD_MS, unless there is no
 * such authority that is still valid.
 */
export function certificatePlan({ authorities, leaf }: Standing, nowMs: number, lifeMs: number): CertificateStep {
  const newest = authorities.length - 1;
  const known = authorities.findLastIndex(
    ({ madeMs, notAfterMs }) => madeMs + SPREAD_MS <= nowMs && notAfterMs > nowMs,
  );
  // No known one: the first authority of all is young, or every older one has expired.
  const by = known >= 0 ? known : authorities.findIndex(({ notAfterMs }) => notAfterMs > nowMs);
  const signer = authorities[by];
  // One that ends before its successor is known everywhere is of no use any more.
  if (!signer || (by === newest && signer.notAfterMs <= nowMs + SPREAD_MS)) return { step: 'start' };
  const keepAll = { step: 'leaf', by, keepFrom: 0 } as const;
  if (leaf.by < by) return { ...keepAll, because: 'authority' };
  // A leaf ends with its authority: where it does, a new one would gain nothing.
  const mayGain = leaf.by !== by || leaf.notAfterMs < signer.notAfterMs;
  const renewAt = mayGain ? leaf.madeMs + (2 / 3) * lifeOf(leaf, lifeMs) : Number.POSITIVE_INFINITY;
  // By now all serve the leaf that is replaced: authorities before its own are needed by nobody.
  if (renewAt <= nowMs) return { ...keepAll, keepFrom: leaf.by === by ? by : 0, because: 'due' };
  if (!leaf.fits) return { ...keepAll, because: 'hosts' };
  const next = authorities[newest];
  const nextAt =
    by < newest && next
      ? Math.min(next.madeMs + SPREAD_MS, signer.notAfterMs)
      : signer.madeMs + lifeOf(signer, AUTHORITY_LIVES * lifeMs) / 2;
  return nextAt <= nowMs ? { step: 'authority' } : { step: 'wait', untilMs: Math.min(renewAt, nextAt) };
}

/** A flag that asks for shorter lives holds at once, and not only for the next certificate. */
const lifeOf = ({ madeMs, notAfterMs }: Validity, mostMs: number): number => Math.min(notAfterMs - madeMs, mostMs);
