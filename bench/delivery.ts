/** A change of a source that the API server accepted, and the workloads that it concerns. */
export interface Put {
  readonly source: string;
  readonly version: number;
  readonly at: number;
  readonly workloads: readonly string[];
  /** Whether a template carries the mark of other data than this; undefined if templates carry no marks. */
  readonly isStale?: (template: string) => boolean;
}

/** A new pod template, as the independent watcher saw it. */
export interface Rollout {
  readonly version: number;
  readonly at: number;
}

export interface Delivery {
  /** From each accepted change to the first later template of each workload that it concerns. */
  readonly latencies: readonly number[];
  /** Workloads that got no new template after a change: their pods run with old data. */
  readonly missed: number;
  /**
   * Workloads whose newest template carries the mark of older data: it was being written when the last change came. Their
   * pods start after that change and have its data all the same.
   */
  readonly behind: number;
  /** Templates beyond one for each change. */
  readonly surplus: number;
  readonly rollouts: number;
  /** One for each change and workload. */
  readonly expected: number;
}

/**
 * Compares changes with rollouts. They are ordered by resource version, because the arrival times of events on two
 * connections have no order.
 */
export function deliveryOf(
  puts: readonly Put[],
  rollouts: ReadonlyMap<string, readonly Rollout[]>,
  template: (workload: string) => string | undefined = () => undefined,
): Delivery {
  const concerned = byWorkload(puts);
  const latencies: number[] = [];
  let missed = 0;
  let behind = 0;
  let expected = 0;
  for (const [workload, changes] of concerned) {
    const seen = rollouts.get(workload) ?? [];
    const reactions = changes.map((change) => ({
      change,
      first: seen.find(({ version }) => version > change.version),
    }));
    for (const { change, first } of reactions) if (first) latencies.push(first.at - change.at);
    if (reactions.some(({ first }) => first === undefined)) missed += 1;
    else if (isBehind(changes, template(workload))) behind += 1;
    expected += changes.length;
  }
  let surplus = 0;
  let total = 0;
  for (const [workload, seen] of rollouts) {
    total += seen.length;
    surplus += Math.max(0, seen.length - (concerned.get(workload)?.length ?? 0));
  }
  return { latencies, missed, behind, surplus, rollouts: total, expected };
}

function isBehind(changes: readonly Put[], template: string | undefined): boolean {
  if (template === undefined) return false;
  const last = new Map(changes.toSorted((a, b) => a.version - b.version).map((change) => [change.source, change]));
  return [...last.values()].some(({ isStale }) => isStale?.(template) ?? false);
}

function byWorkload(puts: readonly Put[]): ReadonlyMap<string, readonly Put[]> {
  const all = new Map<string, Put[]>();
  for (const put of puts) {
    for (const workload of put.workloads) {
      const list = all.get(workload);
      if (list) list.push(put);
      else all.set(workload, [put]);
    }
  }
  return all;
}
