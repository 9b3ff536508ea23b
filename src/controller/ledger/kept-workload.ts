import type { SourceKind } from '../../api/sources.ts';
import { type Applied, UNKNOWN } from '../../domain/ledger/applied.ts';
import { withRoomFor } from '../../domain/ledger/record.ts';
import type { SourceId } from '../../domain/ledger/source-id.ts';
import type { WorkloadState } from '../../domain/state/workload-state.ts';
import type { KeptWorkload, ShardContent } from '../../model/ledger/shard.ts';

// So much of a ConfigMap for one workload, whatever it asks for.
const ENTRY_BYTES = 300_000;

/** The checkpoint's entry for a workload; `seen`: up to which version every event of sources was received. */
export function keptWorkload(
  state: WorkloadState,
  all: Readonly<Record<SourceId, Applied>>,
  seen: NonNullable<ShardContent['seen']>,
): KeptWorkload {
  const { uid, revision, isRolledOut } = state.workload;
  // A template that is newer than the last event of sources: its pods may have begun with data that we have not seen yet.
  const isAhead = Object.keys(all).some((id) => {
    const upTo = seen[id.slice(0, id.indexOf('/')) as SourceKind];
    return upTo !== undefined && state.templateTime.upTo > upTo;
  });
  // What is not known to be settled has to be kept by name; the rest is as it was when this was written.
  const unknown = [...state.applied].flatMap(([id, data]) => (data === UNKNOWN ? [id] : []));
  const applied = withRoomFor(all, ENTRY_BYTES, [...state.waiting.keys(), ...unknown]);
  return {
    uid,
    seq: state.seq,
    applied,
    ...state.templates.kept(),
    revision,
    ...(state.reloads.at !== undefined && { reloadedAt: state.reloads.at }),
    ...(state.reloads.restart && { restart: state.reloads.restart }),
    ...((!isRolledOut || isAhead) && { coming: true }),
    ...(Object.keys(applied).length < Object.keys(all).length && { partial: true }),
  };
}
