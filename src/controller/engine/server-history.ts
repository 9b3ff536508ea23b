import { kindNamed, type WorkloadKind } from '../../api/kinds.ts';
import type { KubeObject } from '../../api/objects.ts';
import type { SourceRef } from '../../api/sources.ts';
import type { WorkloadState } from '../../domain/state/workload-state.ts';
import { isNext, revisionAhead } from '../../domain/workload/rollout.ts';
import type { Workload } from '../../domain/workload/workload.ts';
import type { KubeClient } from '../../kube/client.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { isTransient } from '../../kube/retry-transient.ts';
import type { SourceHistory } from '../../model/sources/source-history.ts';

export interface ServerHistoryDeps {
  readonly client: Pick<KubeClient, 'list'>;
  readonly sources: Pick<SourceHistory, 'since'>;
  readonly parse: (kind: WorkloadKind, object: KubeObject) => Workload;
}

/**
 * What the server remembers of its past, some minutes of it. It is asked where a template and a source were both written
 * while nobody of ours looked, and tells which of the two was first.
 */
export class ServerHistory {
  readonly #deps: ServerHistoryDeps;
  /** Up to here the server has forgotten: nobody asks again. */
  #forgotten = 0;

  constructor(deps: ServerHistoryDeps) {
    this.#deps = deps;
  }

  /** Whether the template, or the Job, came into being after the source had got its data: then the pods have it. */
  async isNewer({ workload, templateTime: time }: WorkloadState, ref: SourceRef): Promise<boolean> {
    const version = this.#deps.sources.since(ref);
    if (time.isReturn || version <= time.after || version > time.upTo || version <= this.#forgotten) return false;
    const { namespace, name } = workload.ref;
    const { job } = time;
    const kind = kindNamed(job === undefined ? workload.ref.kind : 'Job') as WorkloadKind;
    const then = await this.#asOf(kind, { namespace, name: job ?? name }, version);
    if (then === 'forgotten') return false;
    if (then === 'absent') return true;
    if (job !== undefined) return false;
    if (then.metadata.uid !== workload.uid) return true;
    // Somebody may have gone back to the template of that time, or to one before it, and with it to its pods.
    const { revision, fullTemplateDigest } = this.#deps.parse(kind, then);
    const isStraight = time.base === undefined || isNext(time.base, revisionAhead(kind, then));
    const isAnother = revision !== workload.revision && fullTemplateDigest !== workload.fullTemplateDigest;
    return isStraight && isAnother;
  }

  async #asOf(
    kind: WorkloadKind,
    { namespace, name }: { readonly namespace: string; readonly name: string },
    version: number,
  ): Promise<KubeObject | 'absent' | 'forgotten'> {
    try {
      const scope = { namespace, fieldSelector: `metadata.name=${name}` };
      for await (const { items } of this.#deps.client.list(kind, scope, { atVersion: version })) {
        const [object] = items;
        if (object) return object;
      }
      return 'absent';
    } catch (error) {
      if (!KubeError.is(error) || isTransient(error)) throw error;
      if (error.status === 410) this.#forgotten = Math.max(this.#forgotten, version);
      return 'forgotten';
    }
  }
}
