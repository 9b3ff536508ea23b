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
  readonly waiting?: Iterable<SourceId> | undefined;
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
  const rows = entries.map(rowOf);
  const needed = sumOf(rows);
  const cut = new Map<WorkloadKey, Cut>();
  const shareOf = needed <= room ? () => ENTRY_BYTES : sharesIn(rows, room);
  const fitting = rows.flatMap((row) => limited(row, shareOf(row), cut));
  // The last two characters close the entries and the shard.
  const text = `${empty.slice(0, -2)}${fitting.map((row) => row.text).join(',')}}}`;
  const crowding = Math.max(1, needed / (rows.length > FEW_WORKLOADS ? USUAL_BYTES : room));
  return { text, crowding, cut };
}

function rowOf(entry: ShardEntry): Row {
  const text = `${JSON.stringify(entry.key)}:${JSON.stringify(entry.kept)}`;
  // A comma.
  return { ...entry, text, bytes: Buffer.byteLength(text) + 1 };
}

/** How much each may have where there is not enough room for all. */
function sharesIn(rows: readonly Row[], room: number): (row: Row) => number {
  const namespaces = Map.groupBy(rows, namespaceOf);
  const ofNamespace = fairShare([...namespaces.values()].map(sumOf), room);
  const shares = new Map([...namespaces].map(([name, own]) => [name, fairShare(own.map(needOf), ofNamespace)]));
  return (row) => Math.min(ENTRY_BYTES, shares.get(namespaceOf(row)) ?? 0);
}

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
