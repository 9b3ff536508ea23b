import type { CredentialStatus, RotationPhase } from '../cluster-view.ts';
import type { Rotation } from './rotation.ts';

/** What the other pods of a cluster say of their passwords; a pod that says nothing is not there yet. */
export interface Others {
  /** Stands for the newest password; undefined: there is no key for it, and others are not waited for. */
  readonly id: string | undefined;
  readonly peers: ReadonlyMap<string, CredentialStatus | undefined>;
  /** There should be a key, but it is missing: what others say cannot be understood, which is not to say that nobody is there. */
  readonly lacksKey?: boolean | undefined;
}

/**
 * What comes next. Prove: log in with the newest password. Use: give it to the primary. Drop: the earlier ones may go, once
 * the overlap is over. Wait: these pods have not come so far. Halt: nobody can tell how far they are. Rest: there is nothing
 * to do.
 */
export type Turn =
  | { readonly kind: 'prove' | 'use' | 'drop' | 'halt' | 'rest' }
  | { readonly kind: 'wait'; readonly pods: readonly string[]; readonly to: 'accept' | 'use' };

/**
 * One turn at a time, so that every pod accepts a password before any pod uses it, and every pod uses it before any pod
 * refuses an earlier one.
 */
export function nextTurn(rotation: Rotation, others: Others): Turn {
  switch (rotation.phase) {
    case undefined:
      return { kind: 'prove' };
    case 'Accepted':
      return unlessBehind('Accepted', others, { kind: 'use' });
    case 'Used':
      return unlessBehind('Used', others, { kind: 'drop' });
    case 'Settled':
      return { kind: 'rest' };
  }
}

const ORDER: readonly (RotationPhase | undefined)[] = [undefined, 'Accepted', 'Used', 'Settled'];

function unlessBehind(phase: 'Accepted' | 'Used', { id, peers, lacksKey }: Others, turn: Turn): Turn {
  if (lacksKey) return { kind: 'halt' };
  if (id === undefined) return turn;
  const isBehind = (peer: CredentialStatus | undefined): boolean =>
    peer?.id !== id || ORDER.indexOf(peer.phase) < ORDER.indexOf(phase);
  const pods = [...peers].flatMap(([pod, peer]) => (isBehind(peer) ? [pod] : [])).toSorted();
  return pods.length === 0 ? turn : { kind: 'wait', pods, to: phase === 'Accepted' ? 'accept' : 'use' };
}
