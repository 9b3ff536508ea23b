import { type Applied, UNKNOWN } from './applied.ts';

/** What the ledger says about one source of one workload. */
export interface Word {
  readonly seq: number;
  /** Undefined: nothing about this source. */
  readonly applied: Applied | undefined;
  /** Template and source were both written since: the pods may have begun with anything in between. */
  readonly isOvertaken?: boolean | undefined;
}

/** What is known about one source of one workload when we meet it. */
export interface Evidence {
  /** The mark on the template equals the source's current data, and no other source shares the mark. */
  readonly markIsCurrent: boolean;
  /** Upstream looks at nothing but the mark. Otherwise it speaks only where the ledger is silent. */
  readonly compat: boolean;
  readonly current: Applied;
  readonly record: Word | undefined;
  readonly checkpoint: Word | undefined;
  readonly baseline: Applied;
}

export interface Belief {
  readonly applied: Applied;
  readonly from: 'mark' | 'record' | 'checkpoint' | 'baseline';
}

export function believe({ markIsCurrent, compat, current, record, checkpoint, baseline }: Evidence): Belief {
  const mark: Belief = { applied: current, from: 'mark' };
  if (markIsCurrent && compat) return mark;
  // The checkpoint was written knowing the record whose number it carries, so at equal numbers it knows more.
  const recordIsNewer = record !== undefined && record.seq > (checkpoint?.seq ?? -1);
  const words = [
    { word: record, from: 'record' as const },
    { word: checkpoint, from: 'checkpoint' as const },
  ];
  if (!recordIsNewer) words.reverse();
  const [newest] = words.filter(({ word }) => word !== undefined);
  if (newest?.word?.isOvertaken) return { applied: UNKNOWN, from: newest.from };
  for (const { word, from } of words) if (word?.applied !== undefined) return { applied: word.applied, from };
  return markIsCurrent ? mark : { applied: baseline, from: 'baseline' };
}
