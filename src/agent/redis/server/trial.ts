import type { Redis } from '../connection/redis.ts';

/** What becomes of a start with certain directives: Redis's own words, or what was asked of it while it ran. */
export type TrialResult<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly words: string };

export interface Trial {
  /** Lines of a start file, as {@link ../../../domain/redis/start-file.ts} renders them; folders and ports are the trial's own. */
  readonly directives: readonly (readonly [key: string, value: string])[];
  /** The content of an ACL file. */
  readonly acl?: string | undefined;
}

/** Starts a throw-away server with these directives in an empty folder, asks it something, and ends it. */
export type TryServer = <T>(trial: Trial, ask: (redis: Redis) => Promise<T>) => Promise<TrialResult<T>>;
