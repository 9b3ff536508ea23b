import { listIn, objectIn, textIn } from '../../api/json.ts';
import { type SourceKey, sourceKey } from '../../api/sources.ts';
import type { Applied } from '../../domain/ledger/applied.ts';
import type { SourceId } from '../../domain/ledger/source-id.ts';
import type { Change } from '../../domain/outcome/change.ts';
import type { Reloads } from '../../domain/reloader-config/status-facts.ts';
import type { WorkloadKey } from '../../domain/workload/workload.ts';

interface Failure {
  readonly error: string;
  /** Of what nothing has arrived since; undefined: a status told it, and does not say. */
  readonly changes: readonly FailedChange[] | undefined;
}

type FailedChange = Pick<Change, 'id'>;

interface Counted {
  readonly data: Applied;
  /** That it has reloaded: a bit for each. Sources times targets may be millions. */
  targets: bigint;
}

/** By then all targets of a change have most likely been reloaded. */
const MOST_COUNTED = 1000;
const NONE: Reloads = { count: 0, lastTime: undefined };

/** How often the targets of one config were reloaded. Only told, and kept nowhere but in its status. */
export class ReloadTally {
  #all: Reloads = NONE;
  #sinceRecall = 0;
  readonly #targets = new Map<WorkloadKey, Reloads>();
  readonly #failures = new Map<WorkloadKey, Failure>();
  /** The change of each source that was last counted, the oldest first. */
  readonly #counted = new Map<SourceKey, Counted>();
  /** The bit of each target that was reloaded, and bits of former ones to be used again. */
  readonly #bits = new Map<WorkloadKey, bigint>();
  readonly #freeBits: bigint[] = [];

  get all(): Reloads {
    return this.#all;
  }

  /** How many reloads of any target were counted since a status was recalled. */
  get sinceRecall(): number {
    return this.#sinceRecall;
  }

  of(key: WorkloadKey): Reloads {
    return this.#targets.get(key) ?? NONE;
  }

  /**
   * Why what waits for a target has not arrived. A newer change of the same source waits as long as that one did: it is
   * tried no sooner. What no longer waits is forgotten.
   */
  errorOf(key: WorkloadKey, waiting: ReadonlyMap<SourceId, Applied>): string | undefined {
    const { error, changes } = this.#failures.get(key) ?? {};
    const isOpen = changes ? changes.some(({ id }) => waiting.has(id)) : waiting.size > 0;
    if (isOpen) return error;
    this.#failures.delete(key);
    return undefined;
  }

  /** Goes on from what a status says. */
  recall(status: unknown): void {
    const { targetStatus, ...all } = objectIn(status) as Record<string, unknown>;
    this.#all = reloadsIn(all);
    this.#sinceRecall = 0;
    this.#targets.clear();
    this.#failures.clear();
    this.#counted.clear();
    this.#bits.clear();
    this.#freeBits.length = 0;
    for (const each of listIn(targetStatus)) {
      const { kind, namespace, name, lastError, ...rest } = objectIn(each) as Record<string, unknown>;
      const key = `${textIn(kind)}/${textIn(namespace)}/${textIn(name)}` as WorkloadKey;
      this.#targets.set(key, reloadsIn(rest));
      const error = textIn(lastError);
      if (error) this.#failures.set(key, { error, changes: undefined });
    }
  }

  /** A change that reloads several targets is counted once for the config; one that reloads a target again, again. */
  reloaded(key: WorkloadKey, changes: readonly Pick<Change, 'ref' | 'current'>[], time: string): void {
    const bit = this.#bitOf(key);
    const fresh = changes.filter(({ ref, current }) => this.#isFresh(sourceKey(ref), current, bit));
    this.#all = { count: this.#all.count + fresh.length, lastTime: time };
    this.#sinceRecall += 1;
    this.#targets.set(key, { count: this.of(key).count + 1, lastTime: time });
    this.#failures.delete(key);
  }

  /** Forgets all other targets: the spec names them no longer. */
  keepOnly(targets: ReadonlySet<WorkloadKey>): void {
    for (const key of this.#failures.keys()) if (!targets.has(key)) this.#failures.delete(key);
    for (const key of this.#targets.keys()) if (!targets.has(key)) this.#targets.delete(key);
    for (const [key, bit] of this.#bits) {
      if (targets.has(key)) continue;
      this.#bits.delete(key);
      this.#freeBits.push(bit);
      for (const counted of this.#counted.values()) counted.targets &= ~bit;
    }
  }

  #bitOf(target: WorkloadKey): bigint {
    const known = this.#bits.get(target);
    if (known !== undefined) return known;
    const bit = this.#freeBits.pop() ?? 1n << BigInt(this.#bits.size);
    this.#bits.set(target, bit);
    return bit;
  }

  #isFresh(source: SourceKey, data: Applied, target: bigint): boolean {
    const counted = this.#counted.get(source);
    if (counted?.data === data && (counted.targets & target) === 0n) {
      counted.targets |= target;
      return false;
    }
    // Deleted first: the order is that in which they were counted.
    this.#counted.delete(source);
    this.#counted.set(source, { data, targets: target });
    const [oldest] = this.#counted.keys();
    if (this.#counted.size > MOST_COUNTED && oldest !== undefined) this.#counted.delete(oldest);
    return true;
  }

  failed(key: WorkloadKey, changes: readonly FailedChange[], error: string): void {
    this.#failures.set(key, { error, changes });
  }
}

const reloadsIn = ({ reloadCount, lastReloadTime }: Readonly<Record<string, unknown>>): Reloads => ({
  count: typeof reloadCount === 'number' ? reloadCount : 0,
  lastTime: textIn(lastReloadTime) || undefined,
});
