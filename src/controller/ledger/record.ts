import type { Applied } from '../../domain/ledger/applied.ts';
import { encodeRecord, partOfRecord } from '../../domain/ledger/record.ts';
import type { SourceId } from '../../domain/ledger/source-id.ts';
import type { WritePlan } from '../../domain/plan/plan.ts';
import { shortDigest, templateOf } from '../../domain/state/recent-templates.ts';
import type { WorkloadState } from '../../domain/state/workload-state.ts';
import { digestAfter } from '../../domain/template/template-digest.ts';
import type { TemplateEdit } from '../../domain/template/template-edit.ts';
import { nextRevision } from '../../domain/workload/rollout.ts';
import { workloadKey } from '../../domain/workload/workload.ts';
import type { ActDeps } from '../write/act.ts';

// All annotations of an object together may have 256 KiB. What does not fit into our part is kept by the checkpoint.
const ALL_ANNOTATIONS = 262_144;
const OUR_PART = 32_768;
// For the annotation's own name and for those that ride in the same write.
const MARGIN = 1024;

/**
 * What a write leaves on the object about itself. Where there is no room for it, that is no reason not to write: what is not
 * `whole` has to be known to the checkpoint.
 */
export function recordOf(
  { keyId, mayStore, shorten, engine, configs }: Pick<ActDeps, 'keyId' | 'mayStore' | 'shorten' | 'engine' | 'configs'>,
  state: WorkloadState,
  { changes, now }: Pick<WritePlan, 'changes' | 'now'>,
  edit: TemplateEdit | undefined,
): { readonly text: string | undefined; readonly whole: boolean } {
  const { workload } = state;
  const { uid, templateDigest, revision, annotationBytes } = workload;
  const sources: Record<SourceId, Applied> = Object.fromEntries(state.applied);
  for (const { id, current } of changes) sources[id] = current;
  for (const id of Object.keys(sources) as SourceId[]) if (!mayStore(id)) delete sources[id];
  const templateAfter = edit && {
    ...templateOf(workload, engine.seen),
    full: shortDigest(digestAfter(workload, edit, shorten)),
  };
  const record = {
    uid,
    seq: state.seq + 1,
    key: keyId,
    template: templateDigest,
    sources,
    seen: engine.seen,
    at: Math.floor(now / 1000),
    revision: nextRevision(revision, edit !== undefined),
    ...state.templates.kept(templateAfter),
    ...(configs.asksFor(workloadKey(workload.ref)).length > 0 && { configs: true as const }),
  };
  const maxBytes = Math.min(OUR_PART, ALL_ANNOTATIONS - annotationBytes - MARGIN);
  const text = encodeRecord(record);
  if (Buffer.byteLength(text) <= maxBytes) return { text, whole: true };
  // What waits for its turn must not be taken for settled: it comes before all that is.
  const first = [...changes.map(({ id }) => id), ...state.waiting.keys()];
  return { text: partOfRecord(record, maxBytes, first), whole: false };
}
