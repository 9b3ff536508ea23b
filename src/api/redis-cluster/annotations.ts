/** On a RedisCluster: a JSON array of the pods whose Redis is stopped, or `["*"]` for all. */
export const FENCED_INSTANCES = 'redis.io/fencedInstances';
/** In {@link FENCED_INSTANCES}: all pods. */
export const ALL_INSTANCES = '*';

/** On a RedisCluster: what may be done though it can lose data or service, as a comma-separated list of keys of `spec.redis`. */
export const ALLOW_DANGEROUS = 'attune.dev/allow-dangerous';
/** In {@link ALLOW_DANGEROUS}: the primary may start without data though another pod has some. */
export const EMPTY_PRIMARY = 'empty-primary';
