import { RECORD } from '../../api/annotations.ts';
import { kindNamed } from '../../api/kinds.ts';
import type { KubeObject } from '../../api/objects.ts';
import type { WorkloadKey } from '../../domain/workload/workload.ts';
import type { KubeClient } from '../../kube/client.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { isTransient } from '../../kube/retry-transient.ts';
import type { FormerKey } from '../../model/ledger/former-key.ts';
import { pause } from '../../runtime/backoff.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { KeyedQueue } from '../../runtime/queue.ts';
import { runWorkers } from '../../runtime/worker.ts';
import type { Leadership } from '../leadership.ts';
import { FIELD_MANAGER } from '../write/act.ts';
import { setbackOf } from '../write/setback.ts';

export interface OldRecordsDeps {
  readonly client: Pick<KubeClient, 'get' | 'patch'>;
  readonly clock: Clock;
  readonly former: FormerKey | undefined;
  /** Workloads that were seen with a record of the former key. */
  readonly queue: KeyedQueue<WorkloadKey>;
  readonly leadership: Pick<Leadership, 'mayWrite'>;
  readonly report: { recordNotRewritten(key: WorkloadKey, error: KubeError): void };
}

// Twenty a second: nobody waits for it.
const PACE_MS = 50;

/**
 * Rewrites records that were written with a key that could be guessed. Only the annotation changes, and no template: nothing
 * rolls. A Job's record stays, as we may not edit Jobs, and is deleted with the Job.
 */
export async function rewriteRecords(deps: OldRecordsDeps, term: AbortSignal): Promise<void> {
  const { queue, clock, report } = deps;
  await runWorkers(queue, {
    workers: 1,
    clock,
    async handle(key) {
      await rewrite(deps, key);
      await pause(clock, PACE_MS, term).catch(() => {});
    },
    failed(key, error) {
      if (!KubeError.is(error)) throw error;
      // Somebody wrote to the workload meanwhile: read it again.
      if (isTransient(error) || error.status === 409) queue.retry(key, setbackOf(error));
      else if (error.status !== 404) report.recordNotRewritten(key, error);
    },
  });
}

async function rewrite({ client, former, leadership }: OldRecordsDeps, key: WorkloadKey): Promise<void> {
  const [kindName = '', namespace = '', name = ''] = key.split('/');
  const kind = kindNamed(kindName);
  if (!kind || kind.effect === 'replace') return;
  const { metadata } = await client.get<KubeObject>(kind, { namespace, name });
  const record = former?.record(metadata.annotations?.[RECORD]);
  if (record === undefined || !leadership.mayWrite()) return;
  const { resourceVersion } = metadata;
  const body = { metadata: { resourceVersion, annotations: { [RECORD]: record } } };
  await client.patch(kind, { namespace, name }, body, { type: 'merge', fieldManager: FIELD_MANAGER });
}
