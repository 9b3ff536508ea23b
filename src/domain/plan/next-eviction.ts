import type { Restart } from '../ledger/restart.ts';
import type { Availability } from '../workload/availability.ts';
import type { Pod } from '../workload/pod.ts';

/**
 * What a restart does next. `done`: none of its pods is left. `ending`: those that are left have been deleted and are about
 * to end, and nothing is missing. `recover`: the workload has to become available before another pod may go, or it is over.
 */
export type NextEviction =
  | { readonly do: 'done' }
  | { readonly do: 'evict'; readonly pod: Pod }
  | { readonly do: 'wait'; readonly for: 'ending' | 'recover'; readonly message: string };

export interface EvictionFacts {
  /** All that are there, of whatever workload. */
  readonly pods: readonly Pod[];
  /** Whether the workload made it, itself or by what stands between them. */
  readonly isOwn: (pod: Pod) => boolean;
  /** Pods that we have evicted, whatever the watch says yet. */
  readonly evicted: ReadonlySet<string>;
  readonly availability: Availability;
  /** Milliseconds since the epoch, by the server's clock. */
  readonly now: number;
}

/**
 * One pod at a time, and only from a workload that has all it wants. What it lacks because of pods that are to go anyway is
 * no reason to wait: they may be unready for want of the very data that others would get.
 */
export function nextEviction(restart: Restart, facts: EvictionFacts): NextEviction {
  const { pods, isOwn, evicted, availability, now } = facts;
  const { wanted, isComplete, minReadyMs } = availability;
  const left = leftOf(restart, pods);
  if (left.length === 0) return { do: 'done' };
  const isAlive = (pod: Pod): boolean => pod.isRunning && !evicted.has(pod.uid);
  const isAvailable = ({ readySince }: Pod): boolean =>
    readySince !== undefined && (minReadyMs === 0 || now >= readySince * 1000 + minReadyMs);
  const candidates = left.filter(isAlive).sort(byNameDescending);
  const idle = candidates.filter((pod) => !isAvailable(pod));
  const available = pods.filter((pod) => isAlive(pod) && isOwn(pod) && isAvailable(pod)).length;
  const missing = wanted - available;
  const lack = `${available} of ${wanted} pods are available`;
  if (candidates.length === 0) {
    return missing > 0
      ? wait('recover', `${lack}, and ${left.length} that were evicted have not ended yet`)
      : wait('ending', `${left.length} evicted pods have not ended yet`);
  }
  const [next] = missing > 0 ? idle : [...idle, ...candidates];
  const isSpared = missing > 0 ? idle.length >= missing : isComplete;
  if (next && isSpared) return { do: 'evict', pod: next };
  return wait('recover', missing > 0 ? lack : 'a rollout is under way');
}

/** Of the pods of a restart those that are still there. */
export function leftOf({ uids }: Restart, pods: readonly Pod[]): Pod[] {
  const theirs = new Set(uids);
  return pods.filter(({ uid, hasEnded }) => theirs.has(uid) && !hasEnded);
}

const wait = (reason: 'ending' | 'recover', message: string): NextEviction => ({ do: 'wait', for: reason, message });

/** As a StatefulSet does it, whose first pod often leads the others. */
const byNameDescending = (one: Pod, other: Pod): number => other.name.localeCompare(one.name, 'en', { numeric: true });
