import { FENCED_INSTANCES } from '../../api/redis-cluster/annotations.ts';
import { connect } from '../../kube/auth/connection.ts';
import { KubeClient } from '../../kube/client.ts';
import type { SandboxReport } from '../../sandbox/inspect.ts';
import { EXAMPLE, requireExample } from '../../sandbox/redis/example.ts';
import type { Io } from '../terminal/io.ts';
import { layoutFor } from '../terminal/layout.ts';
import { painter, table } from '../terminal/table.ts';
import type { WaitingLine } from '../terminal/waiting-line.ts';
import { startPodRunner } from './pod-runner.ts';
import { installRedis, REDIS, REDIS_PORT, type RedisNode, waitForRedis } from './redis-cluster.ts';

/** `attune sandbox redis`: three pods with Redis on a sandbox that is up, to try things on. */
export async function addRedis(
  sandbox: SandboxReport,
  io: Io,
  waiting: <T>(work: (line: WaitingLine) => Promise<T>) => Promise<T>,
): Promise<number> {
  requireExample();
  startPodRunner(sandbox, io);
  const client = new KubeClient(await connect({ kubeconfig: sandbox.kubeconfig, env: {} }));
  try {
    const nodes = await waiting(async (line) => {
      line.now('making deploy/redis/example.yaml, with TLS');
      await installRedis(client, io.signal);
      line.now('waiting for three pods with Redis');
      return await waitForRedis(client, io.signal);
    });
    io.stdout(introduction(nodes, sandbox.name, io));
    return 0;
  } finally {
    client.close();
  }
}

/** What is there now, and what to try with it. */
export function introduction(nodes: readonly RedisNode[], sandbox: string, io: Io): string {
  const page = layoutFor(io.terminal, io.env);
  const paint = painter(page);
  const rows = nodes.map(({ pod, host }, at) => [pod, `${host}:${REDIS_PORT}`, at === 0 ? 'primary' : 'replica']);
  const commands = suggestions(sandbox).map(
    ([why, command]) => `${why === '' ? '' : `  ${why}\n`}    ${paint('cyan', command)}\n`,
  );
  const [primary] = nodes;
  const cli = redisCli(sandbox, primary?.host ?? '');
  return [
    `RedisCluster ${REDIS.namespace}/${REDIS.name}: three pods with TLS and a password\n${table(rows, page, 2)}`,
    `Try next:\n\n${commands.join('')}  A client of your own:\n    ${paint('cyan', cli)}\n`,
  ].join('\n');
}

/** Commands that work as they are printed, each with what it is for. */
export function suggestions(sandbox: string): readonly (readonly [why: string, command: string])[] {
  const { namespace, name } = REDIS;
  const at = sandbox === 'default' ? '--sandbox' : `--sandbox=${sandbox}`;
  const kubectl = `./attune sandbox ${nameFlag(sandbox)}kubectl -n ${namespace}`;
  const setting = '{"spec":{"redis":{"maxmemory-samples":"7","io-threads":"2","hz":"many"}}}';
  const fence = `${kubectl} annotate --overwrite rediscluster ${name}`;
  return [
    ['What do the agents say?', `./attune redis status ${name} -n ${namespace} ${at}`],
    [
      'One setting is live, one waits for a restart, one is refused:',
      `${kubectl} patch rdc ${name} --type=merge -p '${setting}'`,
    ],
    [
      'Another password, without a failed command:',
      `${kubectl} patch secret ${EXAMPLE.authSecret} -p "{\\"stringData\\":{\\"password\\":\\"$(od -An -N16 -tx1 /dev/urandom | tr -d ' \\n')\\"}}"`,
    ],
    ['Stop one Redis, and start it again:', `${fence} '${FENCED_INSTANCES}=["${EXAMPLE.pods[2]}"]'`],
    ['', `${fence} ${FENCED_INSTANCES}-`],
    [
      'Read the log of an agent:',
      `./attune sandbox ${nameFlag(sandbox)}logs pod.${namespace}.${EXAMPLE.pods[0]}.redis`,
    ],
  ];
}

const nameFlag = (sandbox: string): string => (sandbox === 'default' ? '' : `--name ${sandbox} `);

/** The password is read from the Secret, by whoever may. */
function redisCli(sandbox: string, host: string): string {
  const value = (secret: string, key: string): string =>
    `./attune sandbox ${nameFlag(sandbox)}kubectl -n ${REDIS.namespace} get secret ${secret} -o 'jsonpath={.data.${key}}' | base64 -d`;
  return (
    `ca=$(mktemp) && ${value(EXAMPLE.caSecret, 'ca\\.crt')} >"$ca"; ` +
    `REDISCLI_AUTH=$(${value(EXAMPLE.authSecret, 'password')}) redis-cli --tls --cacert "$ca" -h ${host}`
  );
}
