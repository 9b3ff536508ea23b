import { RECORD } from '../../api/annotations.ts';
import { FIELD_MANAGER } from '../../api/field-manager.ts';
import { kindNamed } from '../../api/kinds.ts';
import type { KubeObject } from '../../api/objects.ts';
import { otherVersion, withoutFingerprints } from '../../domain/ledger/record.ts';
import type { WorkloadState } from '../../domain/state/workload-state.ts';
import { refOfKey, type WorkloadKey } from '../../domain/workload/workload.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { isTransient } from '../../kube/retry-transient.ts';
import type { FormerKey } from '../../model/ledger/former-key.ts';
import { pause } from '../../runtime/backoff.ts';
import type { KeyedQueue } from '../../runtime/queue.ts';
import { runWorkers } from '../../runtime/worker.ts';
import type { ControllerDeps } from '../controller.ts';
import type { LedgerReport } from '../report/ledger-report.ts';
import { setbackOf } from '../write/setback.ts';

export interface OldRecordsDeps extends Pick<ControllerDeps, 'client' | 'clock' | 'leadership'> {
  readonly former: FormerKey | undefined;
  /** Workloads that were seen with a record of the former key, or of another version. */
  readonly queue: KeyedQueue<WorkloadKey>;
  readonly report: Pick<LedgerReport, 'recordNotRewritten'>;
}

/** At a start: workloads with records of a version that this program does not read. What they run counts as current. */
export function noteOtherRecords(
  states: ReadonlyMap<WorkloadKey, Pick<WorkloadState, 'workload'>>,
  queue: Pick<KeyedQueue<WorkloadKey>, 'add'>,
  report: Pick<LedgerReport, 'otherRecords'>,
): void {
  const found = [...states].filter(([, { workload }]) => otherVersion(workload.annotations[RECORD]) !== undefined);
  report.otherRecords(found.length);
  for (const [key] of found) queue.add(key);
}

// Twenty a second: nobody waits for it.
const PACE_MS = 50;

/**
 * Rewrites records that were written with a key that could be guessed, and takes the fingerprints out of those of version 1,
 * which show who has the same Secret. Only the annotation changes, and no template: nothing rolls. A Job's record stays,
 * as we may not edit Jobs, and is deleted with the Job.
 */
export async function rewriteRecords(deps: OldRecordsDeps, term: AbortSignal): Promise<void> {
  const { queue, clock, report } = deps;
  const handle = async (key: WorkloadKey): Promise<void> => {
    await rewrite(deps, key);
    await pause(clock, PACE_MS, term);
  };
  const failed = (key: WorkloadKey, error: unknown): void => {
    if (!KubeError.is(error)) throw error;
    // Somebody was quicker: look at what is there now.
    if (isTransient(error) || error.status === 409) queue.retry(key, setbackOf(error));
    else if (error.status !== 404) report.recordNotRewritten(key, error);
  };
  await runWorkers(queue, { workers: 1, clock, handle, failed }, term);
}

async function rewrite({ client, former, leadership, queue }: OldRecordsDeps, key: WorkloadKey): Promise<void> {
  const ref = refOfKey(key);
  const kind = kindNamed(ref.kind);
  if (!kind || kind.effect === 'replace') return;
  const { metadata } = await client.get<KubeObject>(kind, ref);
  const text = metadata.annotations?.[RECORD];
  const record = withoutFingerprints(text) ?? former?.record(text);
  if (record === undefined) return;
  if (!leadership.mayWrite()) return void queue.retry(key);
  const { resourceVersion } = metadata;
  const body = { metadata: { resourceVersion, annotations: { [RECORD]: record } } };
  await client.patch(kind, ref, body, { type: 'merge', fieldManager: FIELD_MANAGER });
}
