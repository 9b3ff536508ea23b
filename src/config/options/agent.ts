import { duration, inGroup, listen, oneOf, text } from './option.ts';
import type { ValuesOf } from './option-table.ts';

/** Every setting of `attune agent redis`: the flags, the variables, `--help` and the docs all come from here. */
export const AGENT_OPTIONS = {
  ...inGroup('agentWho', {
    clusterName: text({
      flag: 'cluster-name',
      env: 'CLUSTER_NAME',
      doc: 'Name of the RedisCluster, in the namespace of the pod. Required.',
    }),
    podName: text({ flag: 'pod-name', env: 'POD_NAME', doc: 'Own name, as status and fence call it. Required.' }),
    podNamespace: text({ flag: 'pod-namespace', env: 'POD_NAMESPACE', doc: 'Own namespace. Required.' }),
    podIp: text({
      env: 'POD_IP',
      doc: 'Own address, so that Redis is never made a replica of itself. Unset: it is looked up.',
    }),
    role: text({ flag: 'role', fallback: 'data', doc: 'Only `data`: Sentinel pods are not supported.' }),
  }),
  ...inGroup('agentHow', {
    mode: oneOf(['parent', 'sidecar'], {
      flag: 'mode',
      fallback: 'parent',
      doc:
        '`parent`: the agent starts redis-server, stops it, and starts it again. `sidecar`: somebody else does, and the ' +
        'agent connects to it.',
    }),
    compat: oneOf(['safe', 'strict'], {
      flag: 'compat',
      fallback: 'safe',
      doc:
        '`safe`: what would lose data, cut off bystanders or fail at the next start is not done. `strict`: step by ' +
        'step as the instance reconciler of redis-operator does it, its dangers included.',
    }),
    redisServer: text({
      flag: 'redis-server',
      fallback: 'redis-server',
      doc: 'The program that is started, and on which values are tried out first: a name to look for, or a full path.',
    }),
    redisAddress: listen({
      flag: 'redis-address',
      fallback: '127.0.0.1:6379',
      doc: "Of a sidecar's Redis, if --socket names none.",
    }),
    listen: listen({
      flag: 'listen',
      fallback: ':8080',
      doc: 'Where probes, metrics and status are served: /healthz, /readyz, /metrics, /v1/status.',
    }),
    listenAddress: text({
      env: 'ATTUNE_LISTEN_ADDRESS',
      doc: 'Host on which Redis, and --listen where it names none, are opened. Unset: all interfaces.',
    }),
  }),
  ...inGroup('agentPaths', {
    dataDir: text({
      flag: 'data-dir',
      env: 'ATTUNE_REDIS_DATA_DIR',
      fallback: '/data',
      doc: "Redis's data and its start file.",
    }),
    secretsDir: text({
      flag: 'secrets-dir',
      env: 'REDIS_OPERATOR_PROJECTED_SECRETS_DIR',
      fallback: '/projected',
      doc: 'Where Secrets are projected, each value as NAME/KEY.',
    }),
    aclFile: text({
      flag: 'acl-file',
      env: 'REDIS_OPERATOR_ACL_FILE_PATH',
      doc: 'The ACL file that the agent writes for Redis. Unset: users.acl in the data folder.',
    }),
    tlsDir: text({
      flag: 'tls-dir',
      env: 'ATTUNE_REDIS_TLS_DIR',
      fallback: '/tls',
      doc: 'Folder with tls.crt, tls.key and ca.crt.',
    }),
    stateDir: text({
      flag: 'state-dir',
      env: 'ATTUNE_REDIS_STATE_DIR',
      doc: 'What the agent has to know after it was killed. Unset: .attune in the data folder.',
    }),
    socket: text({
      flag: 'socket',
      env: 'ATTUNE_REDIS_SOCKET',
      doc: "Redis's unix socket. Unset: redis.sock in the state folder; as sidecar none, but --redis-address.",
    }),
  }),
  ...inGroup('agentTimes', {
    stopTimeout: duration({
      flag: 'stop-timeout',
      fallback: '20s',
      doc: 'How long Redis may take to end before it is killed. Less than the grace period of the pod.',
    }),
    resync: duration({
      flag: 'resync',
      fallback: '30s',
      doc: 'Files and Redis are looked at this often even if nothing seems to have changed.',
    }),
    statusInterval: duration({
      flag: 'status-interval',
      fallback: '5s',
      doc: 'Least time between two writes of status that only bring new numbers; transitions are written at once.',
    }),
  }),
  ...inGroup('agentOutput', {
    logFormat: oneOf(['', 'json'], { flag: 'log-format', doc: 'Empty for text, `json` for one JSON object per line.' }),
    logLevel: oneOf(['trace', 'debug', 'info', 'warning', 'error', 'fatal', 'panic'], {
      flag: 'log-level',
      fallback: 'info',
      doc: 'trace, debug, info, warning, error, fatal or panic.',
    }),
  }),
  ...inGroup('agentCluster', {
    kubeconfig: text({
      flag: 'kubeconfig',
      env: 'KUBECONFIG',
      doc: 'Path of the kubeconfig. Unset: ~/.kube/config if it exists, else the service account of the pod.',
    }),
    context: text({ flag: 'context', doc: 'Context of the kubeconfig. Unset: its current one.' }),
  }),
} as const;

export type AgentValues = ValuesOf<typeof AGENT_OPTIONS>;
