import type { SourceRef } from '../../api/sources.ts';
import type { Problem } from '../asks/ask.ts';
import type { Workload } from '../workload/workload.ts';
import type { Change } from './change.ts';

/** A Job that was created from a CronJob, or in place of a Job with the same name. */
export interface NewJob {
  readonly name: string;
  readonly uid: string;
}

interface Attempt {
  readonly changes: readonly Change[];
  /** When it began, by the clock of the process. */
  readonly startedAt: number;
}

interface Delivery extends Attempt {
  /** When the newest of the changes was seen, by the clock of the process. */
  readonly lastChangeAt: number;
}

interface ForSources {
  readonly sources: readonly SourceRef[];
}

interface Outcomes {
  /**
   * Its template was patched, it was restarted, or a CronJob was run; then with the Job, if it is known. `evicted`: how many
   * pods others have taken the place of, with the template as it is.
   */
  rolled: Delivery & { readonly job: NewJob | undefined; readonly evicted?: number | undefined };
  /** A Job was deleted and created anew. */
  replaced: Delivery & { readonly job: NewJob };
  /**
   * Nothing was written: the template has the mark already, nothing is to happen to a workload like this, or its owner
   * deletes it.
   */
  skipped: Attempt & { readonly why: 'nothing-to-write' | 'left-alone' | 'deleted' };
  /** The write did not arrive, or the server could not do it now. */
  failed: Attempt & { readonly error: string; readonly retry: 'soon' };
  /** The server does not accept the write. */
  refused: Attempt & { readonly error: string; readonly heldUntil: 'changed or some minutes' };
  /** Another writer changed the template after the data: the new pods have the new data without us. */
  'settled-by-another-writer': ForSources;
  /** Another writer removed our mark; the changes are applied once more. */
  reverted: ForSources;
  /** Another writer removed our mark again; the changes are not applied until the template or the data changes. */
  undelivered: ForSources;
  /** The pause period of a Deployment began. It ends at this time of the server's clock, in milliseconds. */
  paused: { readonly until: number };
  resumed: { readonly by: 'us' | 'another writer' };
  /** The pause period is over, and the Deployment could not be resumed yet. */
  'not-resumed': { readonly error: string };
  /** It needs more bytes in the ledger than its share: what is left out counts as changed once it is written again. */
  'partly-remembered': { readonly bytes: number };
  /** It has annotations that cannot be read. */
  invalid: { readonly problems: readonly Problem[] };
}

/** An outcome of one of these sorts. `workload` is as it was known at that moment. */
export type OutcomeOf<Is extends keyof Outcomes> = {
  readonly [K in Is]: Outcomes[K] & { readonly is: K; readonly workload: Workload };
}[Is];

/** What happened to a workload. Everything that is shown of it (log, metrics, Events, alerts) is made from this. */
export type Outcome = OutcomeOf<keyof Outcomes>;
