import { mkdirSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { environment } from '../../src/config/load.ts';
import { writeKubeconfig } from '../../src/sandbox/control-plane/write-kubeconfig.ts';
import { Api } from '../api.ts';
import type { BenchCluster } from '../bench-cluster.ts';
import { agentCommandOf, type Contender } from '../contender.ts';
import { agentRights, clusterPath, createCluster, createPod, podOf, until } from './cluster-objects.ts';
import { type Mounts, makePlace, observe, type RedisPod } from './redis-pod.ts';

/** An agent with the Redis that it starts; undefined: this contender cannot be told to be one. */
export async function startAgent(
  bench: BenchCluster,
  contender: Contender,
  mounts: Mounts,
): Promise<RedisPod | undefined> {
  const command = agentCommandOf(contender);
  if (command === undefined) return undefined;
  const place = makePlace(bench, `redis-${contender.name}`, mounts);
  const { account, cluster, address, folder, data } = place;
  const access = await bench.accessOf(account, agentRights(cluster));
  await createCluster(bench.api, cluster);
  await createPod(bench.api, cluster, address);
  const own = new Api(access);
  await until('the rights of the agent', async () => (await own.send('GET', clusterPath(cluster))).status === 200);
  own.close();
  const kubeconfig = join(folder, 'kubeconfig');
  writeKubeconfig(kubeconfig, account, access);
  mkdirSync(data);
  // Redis inherits where the agent's output goes, and may outlive it: a pipe would not end with the agent.
  const program = bench.launch(`${command} >>'${join(bench.dir, `${account}.log`)}' 2>&1`, {
    PATH: environment()['PATH'] ?? '',
    KUBECONFIG: kubeconfig,
    CLUSTER_NAME: cluster.name,
    POD_NAME: podOf(cluster),
    POD_NAMESPACE: cluster.namespace,
    POD_IP: address,
    ATTUNE_LISTEN_ADDRESS: address,
    ATTUNE_REDIS_DATA_DIR: data,
    ATTUNE_REDIS_TLS_DIR: place.tls.root,
    REDIS_OPERATOR_PROJECTED_SECRETS_DIR: place.secrets.root,
  });
  const killRedis = bench.onStop(() => killServersOn(data));
  const stop = async (): Promise<void> => {
    await bench.stop(program);
    killRedis();
  };
  const pod = await observe(bench, place, { contender: contender.name, program, tells: true, stop });
  await until('the agent saying that it runs', () => {
    program.check();
    return pod.told().entry.state === 'Running';
  });
  return pod;
}

/** An agent that is killed leaves its Redis alive, to be taken over by the next one. */
function killServersOn(folder: string): void {
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const isServer = readFileSync(`/proc/${name}/comm`, 'utf8').trim() === 'redis-server';
      if (isServer && readlinkSync(`/proc/${name}/cwd`) === folder) process.kill(Number(name), 'SIGKILL');
    } catch {
      // It has ended meanwhile.
    }
  }
}
