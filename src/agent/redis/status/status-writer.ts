import type { KubeObject } from '../../../api/objects.ts';
import { REDIS_CLUSTERS } from '../../../api/resources.ts';
import type { InstanceEntry } from '../../../domain/redis/cluster-view.ts';
import { parseCluster } from '../../../domain/redis/parse-cluster.ts';
import { ownPart, settledPart, statusPatch } from '../../../domain/redis/status-patch.ts';
import type { KubeClient } from '../../../kube/client.ts';
import type { Clock } from '../../../runtime/clock.ts';

export interface StatusWriterOptions {
  readonly client: Pick<KubeClient, 'patch'>;
  readonly pod: string;
  readonly clock: Clock;
  /** The least time between two patches that tell of nothing but numbers. */
  readonly intervalMs: number;
  /** The whole entry is this pod's: what others wrote into it goes. */
  readonly isWhole: boolean;
}

interface Reported {
  readonly isWritten: boolean;
  /** After so long it may be written. */
  readonly waitMs?: number;
}

// A server that is silent must not hold up what comes next: it may be a fence.
const PATCH_MS = 5000;

export const FIELD_MANAGER = 'attune-agent';

/** Writes this pod's entry of `status.instancesStatus`, and nothing else of it. */
export class StatusWriter {
  readonly #options: StatusWriterOptions;
  /** What the server answered to the last patch: the watch may be behind it. */
  #answered: KubeObject | undefined;
  #written: string | undefined;
  #at = Number.NEGATIVE_INFINITY;

  constructor(options: StatusWriterOptions) {
    this.#options = options;
  }

  /** This pod's entry as the server has it, as far as we know. */
  last(object: KubeObject): InstanceEntry {
    return parseCluster(newer(object, this.#answered)).instances.get(this.#options.pod) ?? {};
  }

  /** Writes what has changed; numbers alone may have to wait. */
  async report(object: KubeObject, entry: InstanceEntry): Promise<Reported> {
    const { client, pod, clock, intervalMs, isWhole } = this.#options;
    const there = this.last(object);
    const body = statusPatch(pod, isWhole ? there : ownPart(there), entry);
    if (!body) return { isWritten: false };
    const settled = settledPart(entry);
    const waitMs = this.#at + intervalMs - clock.now();
    if (!isWhole && settled === this.#written && waitMs > 0) return { isWritten: false, waitMs };
    const { namespace, name } = object.metadata;
    const signal = AbortSignal.timeout(PATCH_MS);
    const options = { type: 'merge', subresource: 'status', fieldManager: FIELD_MANAGER, signal } as const;
    this.#answered = await client.patch(REDIS_CLUSTERS, { namespace, name }, body, options);
    this.#written = settled;
    this.#at = clock.now();
    return { isWritten: true };
  }
}

function newer(one: KubeObject, other: KubeObject | undefined): KubeObject {
  if (!other || other.metadata.uid !== one.metadata.uid) return one;
  return BigInt(other.metadata.resourceVersion) > BigInt(one.metadata.resourceVersion) ? other : one;
}
