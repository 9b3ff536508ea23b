import type { ClusterView, InstanceEntry } from '../../../domain/redis/cluster-view.ts';
import type { Clock } from '../../../runtime/clock.ts';
import type { Log } from '../../../telemetry/log.ts';
import type { Snapshot } from '../../files/snapshot.ts';
import type { Redis } from '../connection/redis.ts';
import type { TryServer } from '../server/trial.ts';
import type { RedisAgentSettings } from '../settings.ts';

/** A line of the start file: the key, and its value as Redis is to understand it, not quoted. */
export type Directive = readonly [key: string, value: string];

/** What a step has to work with while Redis does not run: it prepares the next start. */
export interface PrepareContext {
  readonly settings: RedisAgentSettings;
  readonly cluster: ClusterView;
  /** Projected Secrets. */
  readonly secrets: Snapshot;
  readonly tls: Snapshot;
  readonly tryServer: TryServer;
  /** The entries of the other pods that exist and are not fenced. */
  readonly peers: ReadonlyMap<string, InstanceEntry>;
  readonly clock: Clock;
  readonly log: Log;
  /** An Event on the RedisCluster. Whoever calls it does so only when something has changed. */
  readonly event: (type: 'Normal' | 'Warning', reason: string, message: string) => void;
}

/** The same while Redis runs. */
export interface StepContext extends PrepareContext {
  readonly redis: Redis;
}
