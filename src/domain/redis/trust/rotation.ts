import type { TlsStatus, TrustPhase } from '../cluster-view.ts';

/** What the mounted files offer. A certificate is known by the SHA-256 of it, here and everywhere. */
export interface Offer {
  /** Stands for the leaf and the intermediates that are sent with it. */
  readonly chain: string;
  /** The root that the leaf leads to. */
  readonly signedBy: string;
  readonly authorities: readonly string[];
}

/** What Redis serves and trusts. */
export interface Standing {
  readonly chain: string;
  readonly signedBy: string;
  readonly trusted: readonly string[];
  /** When the leaf expires. */
  readonly endsMs: number;
  readonly agreed?: Agreed | undefined;
}

/** When this pod first saw that every pod serves a leaf of these authorities. */
export interface Agreed {
  readonly on: readonly string[];
  readonly sinceMs: number;
}

export interface Circumstances {
  /** What the other pods say of their certificates; undefined: nothing yet. */
  readonly peers: ReadonlyMap<string, TlsStatus | undefined>;
  /** How long an earlier authority still counts after everybody serves a leaf of the new ones. */
  readonly overlapMs: number;
  readonly nowMs: number;
}

/** What is waited for, and when that ends even if nobody does anything. */
export type Wait =
  | { readonly kind: 'trust'; readonly pods: readonly string[]; readonly untilMs: number }
  | { readonly kind: 'leaves'; readonly pods: readonly string[] }
  | { readonly kind: 'overlap'; readonly untilMs: number };

/** What Redis is to serve and to trust now. */
export interface Turn {
  readonly leaf: 'offered' | 'standing';
  /** Sorted, so that the order in a file makes no difference. */
  readonly trusted: readonly string[];
  readonly phase: TrustPhase;
  readonly agreed?: Agreed | undefined;
  readonly wait?: Wait | undefined;
}

/**
 * The next step towards what the files offer. Invariants: a leaf is served only after every pod trusts its authority,
 * and an authority is dropped only when no pod serves a leaf of it: at no moment two pods refuse each other.
 */
export function nextTurn(offer: Offer, standing: Standing | undefined, around: Circumstances): Turn {
  const offered = offer.authorities.toSorted();
  if (!standing) return { leaf: 'offered', trusted: offered, phase: 'Settled' };
  const earlier = standing.trusted.filter((each) => !offer.authorities.includes(each));
  const all = [...offered, ...earlier].sort();
  if (offer.chain !== standing.chain) {
    const pods = mayServe(offer, standing, around.nowMs) ? [] : without(around.peers, (peer) => trusts(peer, offer));
    if (pods.length > 0) {
      const wait: Wait = { kind: 'trust', pods, untilMs: standing.endsMs };
      return { leaf: 'standing', trusted: all, phase: 'Trusted', wait };
    }
  }
  if (earlier.length === 0) return { leaf: 'offered', trusted: offered, phase: 'Settled' };
  return dropEarlier(offer, { offered, all }, { standing, ...around });
}

/** To wait would be in vain: it is no worse for anybody than the leaf that is served. */
const mayServe = (offer: Offer, standing: Standing, nowMs: number): boolean =>
  offer.signedBy === standing.signedBy || standing.endsMs <= nowMs;

function dropEarlier(
  offer: Offer,
  { offered, all }: { readonly offered: readonly string[]; readonly all: readonly string[] },
  { standing, peers, overlapMs, nowMs }: Circumstances & { readonly standing: Standing },
): Turn {
  const known = offer.chain === standing.chain && equalLists(standing.agreed?.on ?? [], offered);
  const served = { leaf: 'offered', trusted: all, phase: 'Served' } as const;
  const pods = without(peers, (peer) => peer?.signedBy !== undefined && offer.authorities.includes(peer.signedBy));
  if (pods.length > 0)
    return { ...served, agreed: known ? standing.agreed : undefined, wait: { kind: 'leaves', pods } };
  // A moment that lies ahead was taken from a clock that has been set back since.
  const sinceMs = Math.min((known ? standing.agreed?.sinceMs : undefined) ?? nowMs, nowMs);
  const untilMs = sinceMs + overlapMs;
  // First the others, and the state on disk, hear of what is served: so never in the same turn.
  if (known && untilMs <= nowMs) return { leaf: 'offered', trusted: offered, phase: 'Settled' };
  return { ...served, agreed: { on: offered, sinceMs }, wait: { kind: 'overlap', untilMs } };
}

/** Of two sorted lists. */
export const equalLists = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((each, at) => each === b[at]);

const trusts = (peer: TlsStatus | undefined, { signedBy }: Offer): boolean =>
  peer?.trusted?.includes(signedBy) ?? false;

/** The pods of which it does not hold, sorted. */
function without(peers: Circumstances['peers'], holds: (peer: TlsStatus | undefined) => boolean): readonly string[] {
  return [...peers].flatMap(([name, peer]) => (holds(peer) ? [] : [name])).sort();
}
