/** Where an agent finds and keeps things. */
export interface Paths {
  /** Redis's data, its start file. */
  readonly dataDir: string;
  /** What the agent itself remembers. */
  readonly stateDir: string;
  /** Projected Secrets: `<name>/<key>`. */
  readonly secretsDir: string;
  /** tls.crt, tls.key, ca.crt. */
  readonly tlsDir: string;
  readonly aclFile: string;
  /** Redis's unix socket; '' where there is none. */
  readonly socket: string;
}

/** What flags and environment say about an agent for Redis. */
export interface RedisAgentSettings {
  readonly clusterName: string;
  readonly podName: string;
  readonly podNamespace: string;
  /** '': not known. */
  readonly podIp: string;
  /** Parent: it starts Redis. Sidecar: somebody else does. */
  readonly mode: 'parent' | 'sidecar';
  /** As the operator that it replaces does it, word for word. */
  readonly strict: boolean;
  readonly paths: Paths;
  /** The program that is started. */
  readonly redisServer: string;
  /** Of a sidecar's Redis, where there is no socket. */
  readonly redisAddress: { readonly host: string; readonly port: number };
  /** Where Redis listens; '': on all interfaces. */
  readonly bindAddress: string;
  /** Probes, metrics, status. */
  readonly listen: { readonly host: string; readonly port: number };
  /** How long Redis may take to end before it is killed. */
  readonly stopTimeoutMs: number;
  /** Files and Redis are looked at this often even if nothing wakes the agent. */
  readonly resyncMs: number;
  readonly statusIntervalMs: number;
}
