import { UNKNOWN } from '../../domain/ledger/applied.ts';
import { fairShare } from '../../domain/ledger/room.ts';
import type { SourceId } from '../../domain/ledger/source-id.ts';
import type { WorkloadKey } from '../../domain/workload/workload.ts';
import type { KeptWorkload, ShardContent } from '../../model/ledger/shard.ts';
import { cutToFit } from './kept-workload.ts';

/** An entry on its way into a shard. */
export interface ShardEntry {
  readonly key: WorkloadKey;
  readonly kept: KeptWorkload;
  /** Sources that wait for their turn. */
  readonly waiting?: readonly SourceId[] | undefined;
  /** It moves to another shard, and stays here until it is there. */
  readonly isLodger?: true;
}

/** An entry that was cut. */
export interface Cut {
  /** What it would need. */
  readonly bytes: number;
  /** It holds a restart, and the pods of that are no longer in it. */
  readonly isRestartLost: boolean;
}

export interface ShardText {
  readonly text: string;
  /** How many shards would be better than this one: 1 if it is good as it is. */
  readonly crowding: number;
  /** Entries that did not fit as they were. */
  readonly cut: ReadonlyMap<WorkloadKey, Cut>;
}

// One workload gets so much of a shard, whatever it asks for. Enough for the pods of a restart of 6,000 pods.
const ENTRY_BYTES = 256_000;
// A ConfigMap may hold 1 MiB, a request to etcd 1.5 MiB.
export const SHARD_BYTES = 700_000;
// The server keeps every version for minutes: what is written often has to be small. A few workloads with very many sources
// are no reason for more shards.
export const USUAL_BYTES = 64_000;
const FEW_WORKLOADS = 50;
// The most that one entry gets where not even the smallest entry of every workload fits. Usual entries need less.
const SMALL_BYTES = 2000;

interface Row extends ShardEntry {
  readonly text: string;
  readonly bytes: number;
}

/**
 * The text of a shard, never more than SHARD_BYTES. Namespaces share a shard equally, and so do the workloads of a namespace:
 * whoever needs more than that is cut, and nobody else.
 */
export function shardText(head: Omit<ShardContent, 'workloads'>, entries: readonly ShardEntry[]): ShardText {
  const empty = JSON.stringify({ ...head, workloads: {} });
  const room = SHARD_BYTES - empty.length;
  const { own = [], lodgers = [] } = Object.groupBy(entries.map(rowOf), ({ isLodger }) =>
    isLodger ? 'lodgers' : 'own',
  );
  const cut = new Map<WorkloadKey, Cut>();
  const kept = fitting(own, room, cut);
  // Lodgers take no room from others. None is cut: this text is newer, so a part would replace the whole entry elsewhere.
  const fitted = [...kept, ...whole(lodgers, room - sumOf(kept))];
  // The last two characters close the entries and the shard.
  const text = `${empty.slice(0, -2)}${fitted.map((row) => row.text).join(',')}}}`;
  const crowding = Math.max(1, sumOf(own) / (own.length > FEW_WORKLOADS ? USUAL_BYTES : room));
  return { text, crowding, cut };
}

function rowOf(entry: ShardEntry): Row {
  const text = `${JSON.stringify(entry.key)}:${JSON.stringify(entry.kept)}`;
  // A comma.
  return { ...entry, text, bytes: Buffer.byteLength(text) + 1 };
}

/** The rows, cut where there is not enough room for all. */
function fitting(rows: readonly Row[], room: number, cut: Map<WorkloadKey, Cut>): readonly Row[] {
  if (sumOf(rows) <= room) return rows.flatMap((row) => limited(row, ENTRY_BYTES, cut));
  const namespaces = [...Map.groupBy(rows, namespaceOf).values()];
  const bytes = fairShare(namespaces.map(sumOf), room);
  return namespaces.flatMap((own) => {
    const share = Math.min(ENTRY_BYTES, fairShare(own.map(needOf), bytes));
    const all = own.flatMap((row) => limited(row, share, cut));
    return all.length === own.length ? all : mostUrgent(own, bytes, cut);
  });
}

/** As many small rows as there is room for. Rows with a waiting change or a restart come first. */
function mostUrgent(rows: readonly Row[], bytes: number, cut: Map<WorkloadKey, Cut>): readonly Row[] {
  let left = bytes;
  return urgentFirst(rows).flatMap((row) => {
    cut.delete(row.key);
    const fits = limited(row, Math.min(left, SMALL_BYTES), cut);
    left -= sumOf(fits);
    return fits;
  });
}

function whole(rows: readonly Row[], bytes: number): readonly Row[] {
  let left = bytes;
  return urgentFirst(rows).filter((row) => {
    const fits = row.bytes <= Math.min(left, ENTRY_BYTES);
    if (fits) left -= row.bytes;
    return fits;
  });
}

const urgentFirst = (rows: readonly Row[]): readonly Row[] => [
  ...rows.filter(isOpen),
  ...rows.filter((row) => !isOpen(row)),
];

const isOpen = ({ kept, waiting = [] }: Row): boolean =>
  waiting.length > 0 || kept.restart !== undefined || Object.values(kept.applied).includes(UNKNOWN);

/** The row in so many bytes; none if there is no room for it at all. */
function limited(row: Row, bytes: number, cut: Map<WorkloadKey, Cut>): readonly Row[] {
  if (row.bytes <= bytes) return [row];
  const { key, kept, waiting } = row;
  // Beside the entry itself: the key with a colon, and a comma.
  const part = cutToFit(kept, bytes - Buffer.byteLength(JSON.stringify(key)) - 2, waiting);
  cut.set(key, { bytes: row.bytes, isRestartLost: kept.restart !== undefined && part?.restart === undefined });
  return part ? [rowOf({ key, kept: part })] : [];
}

const needOf = ({ bytes }: Row): number => Math.min(bytes, ENTRY_BYTES);

const sumOf = (rows: readonly Row[]): number => rows.reduce((sum, row) => sum + needOf(row), 0);

/** Of the workload's key. */
function namespaceOf({ key }: Row): string {
  const [, namespace = ''] = key.split('/');
  return namespace;
}
