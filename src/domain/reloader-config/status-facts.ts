import type { ConfigCondition } from '../../api/reloader-config/status-fields.ts';
import type { SourceRef } from '../../api/sources.ts';
import type { RolloutStrategy, Strategy } from '../asks/ask.ts';
import type { ConfigRef, ConfigTarget, ReloaderConfig } from './config.ts';

/** All that the status of a ReloaderConfig is made of. */
export interface StatusFacts {
  readonly config: ReloaderConfig;
  /** As `config.targets`. */
  readonly targets: readonly TargetFacts[];
  /** Exact names of which nothing is found. */
  readonly missing: readonly MissingSource[];
  /** What is there and asked for; the digest, where it is known and may be shown. It is made of those that are listed. */
  readonly sources: readonly { readonly ref: SourceRef; readonly hash: (() => string) | undefined }[];
  readonly reloads: Reloads;
  /** Whether the controller reads what Namespaces say, or goes by its flag alone. */
  readonly readsNamespaces: boolean;
  /** As the object says them now. */
  readonly conditions: readonly ConfigCondition[];
  /** Milliseconds since the epoch, by the server's clock. */
  readonly now: number;
}

export interface MissingSource {
  readonly ref: Pick<SourceRef, 'kind' | 'name'>;
  /** Where it was looked for. */
  readonly namespaces: readonly string[];
  /** Why it would not be seen if it were there; undefined: it is not there. */
  readonly unwatched?: string | undefined;
}

/** How often something was reloaded, and when, RFC 3339. */
export interface Reloads {
  readonly count: number;
  readonly lastTime: string | undefined;
}

export type TargetFacts = { readonly target: ConfigTarget; readonly reloads: Reloads } & (
  | Unseen
  | ({ readonly is: 'present' } & PresentTarget)
);

/**
 * `not-allowed`: its namespace does not consent, and nothing is said about what is there. `unwatched`: it would not be seen
 * if it were there.
 */
export type Unseen = { readonly is: 'not-allowed' | 'absent' } | { readonly is: 'unwatched'; readonly why: string };

export interface PresentTarget {
  /** What of its changes has not arrived, and why. */
  readonly error: string | undefined;
  /** A change waits for it. */
  readonly isWaiting: boolean;
  /** Milliseconds since the epoch; only while it lasts. */
  readonly cooldownEnd: number | undefined;
  readonly restart: RestartProgress | undefined;
  readonly reloadStrategy: Strategy;
  /** Undefined where the kind has none. */
  readonly rolloutStrategy: RolloutStrategy | undefined;
  /** An older config that wants the same sources for it. */
  readonly decidedBy: ConfigRef | undefined;
}

/** Pods that are evicted one by one. */
export interface RestartProgress {
  readonly pods: number;
  readonly left: number;
  readonly message?: string | undefined;
}
