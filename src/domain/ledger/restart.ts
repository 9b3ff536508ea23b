import { listIn, objectIn } from '../../api/json.ts';
import type { Change } from '../outcome/change.ts';
import type { Applied } from './applied.ts';
import type { SourceId } from './source-id.ts';

/**
 * Pods that are evicted one after the other, so that others take their place. It is kept in the checkpoint before the first
 * of them goes: whoever goes on with it, after a kill -9 or in another replica, evicts none that came later.
 */
export interface Restart {
  /** Second in which its pods were last counted, by the server's clock. */
  readonly at: number;
  /** The resource version of that count: pods that are not among them are newer. */
  readonly version: number;
  /** How many pods it has been about so far, those included that are gone. */
  readonly pods: number;
  /** The uids of those that were there when they were counted. */
  readonly uids: readonly string[];
  /** Second of the last eviction, by the server's clock. */
  readonly evictedAt?: number | undefined;
  /** What it is for: the data of each source, and since when the source holds it. */
  readonly changes: Readonly<Record<SourceId, KeptChange>>;
}

export type KeptChange = readonly [data: Applied, since: number];

/** Whether a restart brings this change: its pods were counted when the source had held the data for the last time. */
export function brings(restart: Restart | undefined, { id, current, since }: Pick<Change, 'id' | 'current' | 'since'>) {
  const [data, heldSince = 0] = restart?.changes[id] ?? [];
  return data === current && since <= heldSince;
}

/** Whoever may edit the checkpoint may have edited it: everything in it is looked at. */
export function isRestart(value: unknown): boolean {
  const { at, version, pods, uids, evictedAt, changes } = objectIn(value) as Record<string, unknown>;
  return (
    [at, version, pods].every(Number.isFinite) &&
    (evictedAt === undefined || Number.isFinite(evictedAt)) &&
    Array.isArray(uids) &&
    uids.every((uid) => typeof uid === 'string') &&
    objectIn(changes) === changes &&
    Object.values(changes).every((change) => {
      const [data, since] = listIn(change);
      return typeof data === 'string' && typeof since === 'number';
    })
  );
}
