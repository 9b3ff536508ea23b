import type { SourceKind } from '../../api/sources.ts';
import type { Overrides } from '../asks/ask.ts';

/**
 * What a workload's pods run with, source by source.
 *
 * A value is a fingerprint's `exact`, or one of two words: the source was absent, or nobody can tell.
 * Nobody can tell counts as changed: a restart too many is better than a change lost.
 */
export type Applied = string;
export const ABSENT: Applied = '-';
export const UNKNOWN: Applied = '?';

export interface Lifecycle {
  readonly compat: boolean;
  readonly reloadOnCreate: boolean;
  readonly reloadOnDelete: boolean;
}

/**
 * Who asked may say something else than the flags. A class of mounted secrets comes into view with the first pod that uses
 * it: that is neither created nor deleted.
 */
export function lifecycleOf(kind: SourceKind, flags: Lifecycle, overrides?: Overrides): Lifecycle {
  if (kind === 'SecretProviderClass') return { ...flags, reloadOnCreate: false, reloadOnDelete: false };
  if (overrides?.reloadOnCreate === undefined && overrides?.reloadOnDelete === undefined) return flags;
  const { reloadOnCreate = flags.reloadOnCreate, reloadOnDelete = flags.reloadOnDelete } = overrides;
  return { ...flags, reloadOnCreate, reloadOnDelete };
}

/**
 * `same`, `keep`: nothing to do. `settle`: nothing to roll, but from now on the current state counts as applied.
 * `unread`: the source's bytes have to be looked at first. The others are a reason to roll.
 */
export type Difference = 'same' | 'keep' | 'settle' | 'unread' | 'changed' | 'created' | 'deleted';

/** What it means that pods run with `applied` while the source is `current`. */
export function compare(applied: Applied, current: Applied, lifecycle: Lifecycle): Difference {
  if (current === UNKNOWN) return 'unread';
  if (applied === current) return 'same';
  if (current === ABSENT) {
    if (lifecycle.reloadOnDelete) return 'deleted';
    // Kept: deleting and creating anew is the only way to change an immutable ConfigMap. Upstream forgets instead.
    return lifecycle.compat ? 'settle' : 'keep';
  }
  if (applied === ABSENT) return lifecycle.reloadOnCreate ? 'created' : 'settle';
  return 'changed';
}
