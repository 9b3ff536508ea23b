import { RECORD } from '../../api/annotations.ts';
import { kindNamed } from '../../api/kinds.ts';
import type { Applied } from '../../domain/ledger/applied.ts';
import { type KeptTemplate, type LedgerRecord, parseRecord } from '../../domain/ledger/record.ts';
import type { SourceId } from '../../domain/ledger/source-id.ts';
import type { KeptReloads } from '../../domain/state/own-reloads.ts';
import type { TemplateTime } from '../../domain/state/pod-data.ts';
import { shortDigest } from '../../domain/state/recent-templates.ts';
import { type Workload, workloadKey } from '../../domain/workload/workload.ts';
import type { CheckpointReader } from './checkpoint-reader.ts';
import type { Runs } from './runs.ts';
import type { CheckpointEntry } from './shard.ts';

/** What a record and an entry of the checkpoint have in common. */
export interface Kept extends Omit<CheckpointEntry, 'seen'> {
  readonly template?: string;
  /** Second at which a rollout began. */
  readonly at?: number;
  /** The version up to which its writer had heard of a source, or of all kinds of sources. */
  readonly heardUpTo: (kind?: string) => number | undefined;
}

export interface PastRecordsDeps {
  readonly keyId: string;
  readonly checkpoint: Pick<CheckpointReader, 'believable' | 'entry'>;
}

/**
 * What became of the template since something was written down about it: the same, a new one, or back to one that had been
 * there before, also if only by way of another.
 */
export type Way = 'same' | 'new' | 'back';

/** What was written down about workloads: records on the objects themselves, and entries of the checkpoint. */
export class PastRecords {
  readonly #deps: PastRecordsDeps;
  readonly #runs: Runs;
  /** The one that was parsed last: a workload is asked about several times in a row. */
  #parsed: { readonly text: string | undefined; readonly uid: string; readonly record: LedgerRecord | undefined } = {
    ...{ text: undefined, uid: '', record: undefined },
  };

  constructor(deps: PastRecordsDeps, runs: Runs) {
    this.#deps = deps;
    this.#runs = runs;
  }

  /** The newest record of a workload that is ours: on itself, or on the Job that was started for it. */
  recordOf({ ref, annotations, uid }: Workload): LedgerRecord | undefined {
    const { keyId } = this.#deps;
    const text = annotations[RECORD];
    if (text !== this.#parsed.text || uid !== this.#parsed.uid)
      this.#parsed = { text, uid, record: parseRecord(text, uid, keyId) };
    const own = this.#parsed.record;
    const run = this.#runs.of(workloadKey(ref))?.record;
    if (run?.uid !== uid || run.key !== keyId || run.seq <= (own?.seq ?? 0)) return own;
    return run;
  }

  /** A record that we have not written, or not yet heard of: the answer to a write can be lost on its way. */
  newerThan(seq: number, workload: Workload): LedgerRecord | undefined {
    const record = this.recordOf(workload);
    return record && record.seq > seq ? record : undefined;
  }

  /** All that is believed of the past of a workload. */
  of(workload: Workload): { readonly entry: Kept | undefined; readonly record: Kept | undefined } {
    const entry = this.#deps.checkpoint.entry(workloadKey(workload.ref), workload.uid);
    const record = this.#deps.checkpoint.believable ? this.recordOf(workload) : undefined;
    return {
      entry: entry && { ...entry, heardUpTo: (kind) => heardIn(entry, kind) },
      record: record && { ...record, applied: record.sources, heardUpTo: () => record.seen },
    };
  }

  /** Of our reloads the record speaks whenever there is one: to wait does no harm. */
  reloadsOf(workload: Workload): KeptReloads {
    const { reloadedAt, restart, seq = 0 } = this.#deps.checkpoint.entry(workloadKey(workload.ref), workload.uid) ?? {};
    const record = this.recordOf(workload);
    const isOver = record !== undefined && record.seq > seq;
    return { reloadedAt: Math.max(record?.at ?? 0, reloadedAt ?? 0) || undefined, ...(!isOver && { restart }) };
  }

  /** The checkpoint was written knowing the record whose number it carries. */
  newestOf(workload: Workload): Kept | undefined {
    const { entry, record } = this.of(workload);
    return record && record.seq > (entry?.seq ?? -1) ? record : entry;
  }

  knows(workload: Workload): boolean {
    return this.newestOf(workload) !== undefined;
  }

  /** All sources that the past knows of; some may be gone. */
  sourcesOf(workload: Workload): readonly SourceId[] {
    const { entry, record } = this.of(workload);
    return Object.keys({ ...entry?.applied, ...record?.applied }) as SourceId[];
  }

  /** When the rollout was made that a record tells of. */
  templateTime({ ref, resourceVersion }: Workload, record: LedgerRecord): TemplateTime {
    const run = this.#runs.of(workloadKey(ref));
    const after = record.seen ?? -1;
    if (run?.record !== record) return { after, upTo: Number(resourceVersion) };
    return { after, upTo: run.version, job: run.job };
  }

  wayOf(workload: Workload, kept: Kept | undefined): Way {
    // An edit of its template replaces no pods.
    if (kindNamed(workload.ref.kind)?.effect !== 'patch') return 'same';
    // Nothing was written down, though somebody was there to do so: it came later.
    if (!kept) return this.#deps.checkpoint.believable ? 'new' : 'same';
    if (kept.revision === undefined) {
      return kept.template === undefined || kept.template === workload.templateDigest ? 'same' : 'new';
    }
    // The revision is counted a moment later than the template changes.
    const isLast = kept.looks === undefined || templateIn(kept, workload) === kept.looks.at(-1);
    if (kept.revision === workload.revision && isLast) return 'same';
    return templateIn(kept, workload) ? 'back' : 'new';
  }
}

function heardIn({ seen = {} }: CheckpointEntry, kind: string | undefined): number | undefined {
  const all: Readonly<Record<string, number>> = seen;
  if (kind !== undefined) return all[kind];
  const versions = Object.values(all);
  return versions.length > 0 ? Math.min(...versions) : undefined;
}

/** The present template of a workload among those that were written down. */
export function templateIn({ looks = [] }: Kept, { fullTemplateDigest }: Workload): KeptTemplate | undefined {
  return looks.find(([digest]) => digest === shortDigest(fullTemplateDigest));
}

export const appliedIn = ({ applied }: Kept): ReadonlyMap<SourceId, Applied> =>
  new Map(Object.entries(applied)) as ReadonlyMap<SourceId, Applied>;
