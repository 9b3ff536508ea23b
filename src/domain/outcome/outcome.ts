import type { SourceRef } from '../../api/sources.ts';
import type { Problem } from '../asks/ask.ts';
import type { Workload } from '../workload/workload.ts';
import type { Change } from './change.ts';

/** A Job that was created from a CronJob, or in place of a Job with the same name. */
export interface NewJob {
  readonly name: string;
  readonly uid: string;
}

interface AboutWorkload {
  /** As it was known when this happened. */
  readonly workload: Workload;
}

interface AboutChanges extends AboutWorkload {
  readonly changes: readonly Change[];
  /** When the attempt began, by the clock of the process. */
  readonly startedAt: number;
}

interface AboutSources extends AboutWorkload {
  readonly sources: readonly SourceRef[];
}

/** Its template was patched, it was restarted, or a CronJob was run. */
export interface Rolled extends AboutChanges {
  readonly is: 'rolled';
  /** The Job that a CronJob ran, if its name is known. */
  readonly job: NewJob | undefined;
  /** When the newest of the changes was seen, by the clock of the process. */
  readonly lastChangeAt: number;
}

/** A Job was deleted and created anew. */
export interface Replaced extends AboutChanges {
  readonly is: 'replaced';
  readonly job: NewJob;
  readonly lastChangeAt: number;
}

/** Nothing was written: the template has the mark already, or nothing is to happen to a workload like this. */
export interface Skipped extends AboutChanges {
  readonly is: 'skipped';
  readonly why: 'nothing-to-write' | 'left-alone';
}

/** The write did not arrive, or the server could not do it now. */
export interface Failed extends AboutChanges {
  readonly is: 'failed';
  readonly error: string;
  readonly retry: 'soon';
}

/** The server does not accept the write. */
export interface Refused extends AboutChanges {
  readonly is: 'refused';
  readonly error: string;
  readonly heldUntil: 'changed or some minutes';
}

/** Another writer changed the template after the data: the new pods have the new data without us. */
export interface SettledByAnotherWriter extends AboutSources {
  readonly is: 'settled-by-another-writer';
}

/** Another writer removed our mark; the changes are applied once more. */
export interface Reverted extends AboutSources {
  readonly is: 'reverted';
}

/** Another writer removed our mark again; the changes are not applied until the template or the data changes. */
export interface Undelivered extends AboutSources {
  readonly is: 'undelivered';
}

/** The pause period of a Deployment began. */
export interface Paused extends AboutWorkload {
  readonly is: 'paused';
  /** Milliseconds since the epoch, by the server's clock. */
  readonly until: number;
}

export interface Resumed extends AboutWorkload {
  readonly is: 'resumed';
  readonly by: 'us' | 'another writer';
}

/** The pause period is over, and the Deployment could not be resumed yet. */
export interface NotResumed extends AboutWorkload {
  readonly is: 'not-resumed';
  readonly error: string;
}

/** It has annotations that cannot be read. */
export interface Invalid extends AboutWorkload {
  readonly is: 'invalid';
  readonly problems: readonly Problem[];
}

/** What happened to a workload. Everything that is shown of it (log, metrics, Events, alerts) is made from this. */
export type Outcome =
  | Rolled
  | Replaced
  | Skipped
  | Failed
  | Refused
  | SettledByAnotherWriter
  | Reverted
  | Undelivered
  | Paused
  | Resumed
  | NotResumed
  | Invalid;
