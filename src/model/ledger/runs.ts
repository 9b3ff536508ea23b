import { RECORD } from '../../api/annotations.ts';
import { type LedgerRecord, readRecord } from '../../domain/ledger/record.ts';
import { type Workload, type WorkloadKey, workloadKey } from '../../domain/workload/workload.ts';

/** A Job that a change of data made a CronJob run. */
export interface Run {
  readonly job: string;
  readonly record: LedgerRecord;
  /** Resource version of the Job when we first saw it. */
  readonly version: number;
}

/** The last run of each CronJob. A CronJob is not written to when it is run, so its record is an annotation of the Job. */
export class Runs {
  readonly #last = new Map<WorkloadKey, Run>();

  of(key: WorkloadKey): Run | undefined {
    return this.#last.get(key);
  }

  /** The CronJob of this Job, if its record is newer than what we know. */
  note({ ref, owner, annotations, resourceVersion }: Workload): WorkloadKey | undefined {
    if (owner?.kind !== 'CronJob') return undefined;
    const record = readRecord(annotations[RECORD]);
    if (!record) return undefined;
    const key = workloadKey({ kind: 'CronJob', namespace: ref.namespace, name: owner.name });
    const known = this.#last.get(key)?.record;
    if (known?.uid === record.uid && known.seq >= record.seq) return undefined;
    this.#last.set(key, { job: ref.name, record, version: Number(resourceVersion) });
    return key;
  }

  forget(key: WorkloadKey): void {
    this.#last.delete(key);
  }
}
