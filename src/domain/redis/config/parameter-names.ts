/**
 * The name under which a parameter counts. Redis knows many by an older name too, and takes both in one command without
 * a word: the last one wins.
 */
export function parameterOf(name: string): string {
  const lower = name.toLowerCase();
  // A dot: it belongs to a module, which has no older names.
  if (lower.includes('.')) return lower;
  if (lower === 'lua-time-limit') return 'busy-reply-threshold';
  return lower.replace('slaves', 'replicas').replace('slave', 'replica').replace('ziplist', 'listpack');
}

const DATA = 'The agent keeps the data where --data-dir says';
const TLS = 'spec.tlsSecret and spec.caSecret govern it';
const AUTH = 'spec.authSecret governs it';
const REPLICATION = 'status.currentPrimary and spec.replicaMode govern it';
const PROCESS = 'The agent starts and stops Redis itself, and would lose sight of it';
const ADDRESS = 'Other pods and the agent find this Redis at the address of its pod';

/** Parameters that are the agent's own, and what governs each. */
const OWNED: ReadonlyMap<string, string> = new Map([
  ['port', 'Redis listens on 6379, where Services, probes and other pods look for it'],
  ['tls-port', `Redis listens on 6379; ${TLS}`],
  ['unixsocket', '--socket governs it: the agent itself comes in there'],
  ['unixsocketperm', '--socket governs it: only the agent comes in there'],
  ...['dir', 'dbfilename', 'appenddirname', 'appendfilename'].map((name) => [name, DATA] as const),
  ['logfile', 'Redis logs to the output of its container: read it with kubectl logs'],
  ['aclfile', 'spec.aclConfigSecret governs it, and --acl-file says where'],
  ['user', 'spec.aclConfigSecret governs it: users belong into that Secret'],
  ['requirepass', AUTH],
  ['masterauth', `${AUTH}, and spec.replicaMode.source.authSecretName for another cluster`],
  ['masteruser', AUTH],
  ['replicaof', REPLICATION],
  ...['cert-file', 'key-file', 'key-file-pass', 'ca-cert-file', 'ca-cert-dir'].map(
    (name) => [`tls-${name}`, TLS] as const,
  ),
  ...['cert-file', 'key-file', 'key-file-pass'].map((name) => [`tls-client-${name}`, TLS] as const),
  ['tls-replication', TLS],
  ['tls-cluster', TLS],
  ['cluster-enabled', 'spec.mode governs it'],
  ['cluster-config-file', DATA],
  ['cluster-port', ADDRESS],
  ['daemonize', PROCESS],
  ['supervised', PROCESS],
  ['pidfile', PROCESS],
  ['include', 'The start file is made of what Redis has accepted: put the settings themselves into spec.redis'],
  ['enable-protected-configs', DATA],
]);

/** What governs a parameter that is not for `spec.redis` to set; undefined: it may. */
export function ownerOf(parameter: string): string | undefined {
  if (/^(?:replica|cluster)-announce-/.test(parameter)) return ADDRESS;
  return OWNED.get(parameter);
}
