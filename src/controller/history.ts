import { RECORD } from '../api/annotations.ts';
import { kindNamed, type WorkloadKind } from '../api/kinds.ts';
import type { KubeObject } from '../api/objects.ts';
import { readRecord } from '../domain/ledger.ts';
import { parseTime } from '../domain/rfc3339.ts';
import type { Workload } from '../domain/workload.ts';
import type { KubeClient } from '../kube/client.ts';
import { KubeError } from '../kube/kube-error.ts';
import { isTransient } from '../kube/patiently.ts';
import type { Change } from './act.ts';
import type { SourceBook } from './source-book.ts';
import type { WorkloadState } from './workload-state.ts';

export interface HistoryDeps {
  readonly client: Pick<KubeClient, 'list'>;
  readonly sources: Pick<SourceBook, 'get' | 'since'>;
  readonly parse: (kind: WorkloadKind, object: KubeObject) => Workload;
  readonly sharedVersions: () => boolean;
}

// How far the clocks of the servers may be apart, of which one dated the change and another told the writer of the record
// the time. Beyond that a change is called newer without asking, so that a long absence does not end with a question for
// every workload.
const CLOCKS_APART_S = 10;

/**
 * Whether a rollout of which only the record was found came after a change that its writer had not heard of: then the
 * pods have the data, and its writer died before it could say so. The server remembers some minutes of its past, and
 * what the workload looked like at the moment of the change tells which of the two was first.
 */
export async function cameAfter(deps: HistoryDeps, state: WorkloadState, change: Change): Promise<boolean> {
  const { unplaced, workload } = state;
  if (!unplaced || change.difference !== 'changed' || !deps.sharedVersions()) return false;
  const { record, job } = unplaced;
  const version = deps.sources.since(change.ref);
  const editedAt = parseTime(deps.sources.get(change.ref)?.editedAt ?? '');
  if (version > unplaced.before || record.at === undefined) return false;
  if (editedAt !== undefined && editedAt > record.at + CLOCKS_APART_S) return false;
  const { namespace, name } = workload.ref;
  const kind = kindNamed(job === undefined ? workload.ref.kind : 'Job') as WorkloadKind;
  const then = await asOf(deps, kind, { namespace, name: job ?? name }, version);
  if (then === 'forgotten') return false;
  if (then === 'absent') return true;
  if (job !== undefined || then.metadata.uid !== workload.uid) return false;
  if ((readRecord(then.metadata.annotations?.[RECORD])?.seq ?? 0) >= record.seq) return false;
  // Somebody may have gone back to the template of that time, and with it to its pods.
  return deps.parse(kind, then).fullTemplateDigest !== workload.fullTemplateDigest;
}

async function asOf(
  { client }: HistoryDeps,
  kind: WorkloadKind,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  version: number,
): Promise<KubeObject | 'absent' | 'forgotten'> {
  try {
    const scope = { namespace, fieldSelector: `metadata.name=${name}` };
    for await (const { items } of client.list(kind, scope, { atVersion: version })) {
      const [object] = items;
      if (object) return object;
    }
    return 'absent';
  } catch (error) {
    if (!KubeError.is(error) || isTransient(error)) throw error;
    return 'forgotten';
  }
}
