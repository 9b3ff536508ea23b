import type { SourceKind } from '../../api/sources.ts';
import { type Applied, UNKNOWN } from '../../domain/ledger/applied.ts';
import { withRoomFor } from '../../domain/ledger/room.ts';
import type { SourceId } from '../../domain/ledger/source-id.ts';
import type { WorkloadState } from '../../domain/state/workload-state.ts';
import type { KeptWorkload, ShardContent } from '../../model/ledger/shard.ts';

/** The checkpoint's entry for a workload; `seen`: up to which version every event of sources was received. */
export function keptWorkload(
  state: WorkloadState,
  applied: Readonly<Record<SourceId, Applied>>,
  seen: NonNullable<ShardContent['seen']>,
): KeptWorkload {
  const { uid, revision, isRolledOut } = state.workload;
  // A template that is newer than the last event of sources: its pods may have begun with data that we have not seen yet.
  const isAhead = Object.keys(applied).some((id) => {
    const upTo = seen[id.slice(0, id.indexOf('/')) as SourceKind];
    return upTo !== undefined && state.templateTime.upTo > upTo;
  });
  return {
    uid,
    seq: state.seq,
    applied,
    ...state.templates.kept(),
    revision,
    ...(state.reloads.at !== undefined && { reloadedAt: state.reloads.at }),
    ...(state.reloads.restart && { restart: state.reloads.restart }),
    ...((!isRolledOut || isAhead) && { coming: true }),
  };
}

const NOTHING_HEARD: Required<NonNullable<ShardContent['seen']>> = { ConfigMap: 0, Secret: 0, SecretProviderClass: 0 };

/**
 * The same in at most so many bytes; undefined if there is no room for it at all. Sources that wait, or of which nobody knows
 * what the pods have, are kept before all others: for a source that is not mentioned, only a later write counts as a change.
 * Where even those do not fit, any write counts.
 */
export function cutToFit(
  { restart, ...entry }: KeptWorkload,
  bytes: number,
  waiting: Iterable<SourceId> = [],
): KeptWorkload | undefined {
  const open = (Object.keys(entry.applied) as SourceId[]).filter((id) => entry.applied[id] === UNKNOWN);
  const first = [...waiting, ...open].filter((id) => entry.applied[id] !== undefined);
  const bare: KeptWorkload = { ...entry, applied: {}, partial: true, seen: NOTHING_HEARD };
  const withRestart: KeptWorkload = { ...bare, ...(restart && { restart }) };
  const fitting = [withRestart, bare].find((each) => bytesOf(each) <= bytes);
  if (!fitting) return undefined;
  const applied = withRoomFor(entry.applied, bytes - bytesOf(fitting), first);
  const { seen: _, ...rest } = fitting;
  const isOpenKept = first.every((id) => applied[id] !== undefined);
  return isOpenKept ? { ...rest, ...(entry.seen && { seen: entry.seen }), applied } : { ...fitting, applied };
}

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));
