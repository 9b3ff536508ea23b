import type { SourceKind } from '../api/sources.ts';

/** One element of a named list: its text as written, and whether a name matches (undefined: does not compile). */
export interface NamePattern {
  readonly text: string;
  readonly matches: ((name: string) => boolean) | undefined;
  /** Set when the pattern is a plain name, so that a reverse index can find it without trying. */
  readonly literal: string | undefined;
}

/** What a workload asked for regarding one kind of source. The annotation's own text is kept for `explain`. */
export interface KindIntent {
  /** Where the four keys were read: all from one place. */
  readonly from: 'metadata' | 'template';
  readonly named: readonly NamePattern[];
  readonly search: boolean;
  /** Text of the auto annotations, '' if missing. */
  readonly auto: string;
  readonly typedAuto: string;
  readonly excluded: readonly string[];
}

export interface Problem {
  readonly path: string;
  readonly message: string;
}

export interface Intent {
  readonly of: Readonly<Record<SourceKind, KindIntent>>;
  /** Milliseconds, where the workload sets its own; undefined = the flag's. */
  readonly quietPeriodMs: number | undefined;
  readonly maxWaitMs: number | undefined;
  /** Deployment only. */
  readonly pausePeriodMs: number | undefined;
  readonly rolloutStrategy: 'rollout' | 'restart';
  /** CronJob and Job; undefined = the default of the mode. */
  readonly onChange: 'run' | 'template' | 'ignore' | undefined;
  /** What could not be understood, with the annotation as path and what was expected. */
  readonly problems: readonly Problem[];
}
