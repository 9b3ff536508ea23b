import type { KindName } from '../../api/kinds.ts';
import type { SourceKind } from '../../api/sources.ts';
import { type Applied, UNKNOWN } from '../../domain/ledger/applied.ts';
import { type KeptTemplate, withRoomFor } from '../../domain/ledger/record.ts';
import type { SourceId } from '../../domain/ledger/source-id.ts';
import type { WorkloadState } from '../../domain/state/workload-state.ts';
import type { WorkloadKey } from '../../domain/workload/workload.ts';
import type { KeptWorkload, ShardContent } from './ledger-shard.ts';

/** What the checkpoint remembers of a workload from before the start. */
export interface CheckpointEntry {
  readonly seq: number;
  readonly applied: Readonly<Partial<Record<SourceId, Applied>>>;
  /** Recent templates, newest last, and the revision, as they were when it was written. */
  readonly looks?: readonly KeptTemplate[] | undefined;
  readonly revision?: string | undefined;
  /** Pods were still being replaced: what changed afterwards is in some of them. */
  readonly coming?: true | undefined;
  /** For each kind of source the version up to which everything had been told to whoever wrote it. */
  readonly seen?: Readonly<Partial<Record<SourceKind, number>>> | undefined;
  /** Not all sources are mentioned: what is missing had nothing waiting. */
  readonly partial?: true | undefined;
}

// So much of an object for one workload, whatever it asks for.
const ENTRY_BYTES = 300_000;

type Horizon<Kind extends string> = Readonly<Partial<Record<Kind, number>>>;
type Seen = Horizon<SourceKind>;

/** What an earlier process left in the checkpoint, until everything that it speaks of has been listed. */
export class LedgerPast {
  #entries = new Map<WorkloadKey, KeptWorkload>();
  /** Kinds that are followed, and that nobody could list yet: their past is kept for them. */
  readonly #awaited = new Set<string>();
  #isForgotten = false;
  #head: ShardContent | undefined;

  /** How far a kind of source had been heard of, and the kind of the workload too. */
  seenOf(source: SourceKind, workload: KindName): number | undefined {
    const { seen, told } = this.#head ?? {};
    return seen?.[source] && Math.min(seen[source], told?.[workload] ?? Number.POSITIVE_INFINITY);
  }

  get entries(): ReadonlyMap<WorkloadKey, KeptWorkload> {
    return this.#entries;
  }

  /** Before it has been asked for all it knows, the past must not be written over. */
  get isForgotten(): boolean {
    return this.#isForgotten;
  }

  clear(): void {
    this.#entries.clear();
    this.#isForgotten = false;
  }

  remember(content: ShardContent, head: ShardContent): void {
    this.#head = head;
    const seen = content.seen && laterOf(content.seen, head.seen);
    const told = laterOf(content.told ?? {}, head.told);
    for (const [key, entry] of Object.entries(content.workloads)) {
      const horizon = told[kindOf(key) as KindName] ?? Number.POSITIVE_INFINITY;
      this.#entries.set(key as WorkloadKey, { ...(seen && { seen: upTo(seen, horizon) }), ...entry });
    }
  }

  entry(key: WorkloadKey, uid: string): CheckpointEntry | undefined {
    const entry = this.#entries.get(key);
    return entry?.uid === uid ? entry : undefined;
  }

  /** What it says about sources of kinds that are still to come. */
  awaitedOf(key: WorkloadKey, uid: string): Record<SourceId, Applied> {
    const applied = Object.entries(this.entry(key, uid)?.applied ?? {}) as [SourceId, Applied][];
    return Object.fromEntries(applied.filter(([id]) => this.#isAwaited(kindOf(id), key)));
  }

  awaits(kind: KindName | SourceKind, namespace: string): void {
    this.#awaited.add(`${kind}/${namespace}`);
  }

  /** True if there is less to be kept now. */
  listed(kind: KindName | SourceKind, namespace: string): boolean {
    return this.#awaited.delete(`${kind}/${namespace}`) && this.#isForgotten;
  }

  forget(): void {
    this.#isForgotten = true;
    const isAwaited = ([key, { applied }]: readonly [WorkloadKey, KeptWorkload]) =>
      this.#isAwaited(kindOf(key), key) || Object.keys(applied).some((id) => this.#isAwaited(kindOf(id), key));
    this.#entries = new Map([...this.#entries].filter(isAwaited));
  }

  remove(key: WorkloadKey): void {
    if (this.#isForgotten) this.#entries.delete(key);
  }

  #isAwaited(kind: string, key: string): boolean {
    const [, namespace = ''] = key.split('/');
    return this.#awaited.has(`${kind}/`) || this.#awaited.has(`${kind}/${namespace}`);
  }
}

/** What is kept of a workload, in so much room as one may have, by somebody who has heard of sources so far. */
export function keptWorkload(state: WorkloadState, all: Readonly<Record<SourceId, Applied>>, seen: Seen): KeptWorkload {
  const { uid, revision, isRolledOut } = state.workload;
  // Pods of a template that is newer than the last news of sources may have begun with other data, as those may that come.
  const isAhead = Object.keys(all).some(
    (id) => state.templateTime.upTo > (seen[kindOf(id) as SourceKind] ?? Number.POSITIVE_INFINITY),
  );
  const isComing = !isRolledOut || isAhead;
  const applied = withRoomFor(all, ENTRY_BYTES, unsettled(state));
  return {
    uid,
    seq: state.seq,
    applied,
    looks: state.templates.kept(),
    revision,
    ...(isComing && { coming: true }),
    ...(Object.keys(applied).length < Object.keys(all).length && { partial: true }),
  };
}

/** What is not known to be settled has to be kept by name; the rest is as it was when this was written. */
const unsettled = ({ waiting, applied }: WorkloadState): SourceId[] => [
  ...waiting.keys(),
  ...[...applied].flatMap(([id, data]) => (data === UNKNOWN ? [id] : [])),
];

function laterOf<Kind extends string>(one: Horizon<Kind>, other?: Horizon<Kind>): Horizon<Kind> {
  const kinds = Object.keys(one) as Kind[];
  return Object.fromEntries(kinds.map((kind) => [kind, Math.max(one[kind] ?? 0, other?.[kind] ?? 0)])) as Horizon<Kind>;
}

const upTo = (seen: Seen, horizon: number): Seen =>
  Object.fromEntries(Object.entries(seen).map(([kind, version]) => [kind, Math.min(version, horizon)]));

/** Of a workload's key or a source's id. */
const kindOf = (key: string): string => key.slice(0, key.indexOf('/'));
