import { REDIS_CLUSTERS } from '../../../api/resources.ts';
import type { ClusterView } from '../../../domain/redis/cluster-view.ts';
import type { KubeClient } from '../../../kube/client.ts';
import { http } from '../../../runtime/node-http.ts';
import type { Pods } from '../pods.ts';
import type { RedisAgentSettings } from '../settings.ts';

/**
 * Whether a primary is cut off from everybody: neither the API server nor any pod that it knew answers. Somebody else may
 * be primary by then, so that it has to go. Whoever knows no other pod is not cut off.
 */
export async function isIsolated(
  cluster: ClusterView,
  { clusterName: name, podName, podNamespace: namespace, listen }: RedisAgentSettings,
  { client, pods }: { readonly client: Pick<KubeClient, 'get'>; readonly pods: Pods },
): Promise<boolean> {
  const { apiServerTimeoutMs, peerTimeoutMs } = cluster.isolation;
  try {
    await client.get(REDIS_CLUSTERS, { namespace, name }, { signal: AbortSignal.timeout(apiServerTimeoutMs) });
    // Learned while it can be, for the time when it cannot.
    const others = [...cluster.instances.keys()].filter((pod) => pod !== podName);
    void Promise.all(others.map((pod) => pods.exists(pod)));
    return false;
  } catch {
    const { addresses } = pods;
    if (addresses.length === 0) return false;
    const answers = addresses.map((host) => statusOf(host, listen.port, peerTimeoutMs));
    return !(await Promise.all(answers)).includes(200);
  }
}

/** The status of a peer's answer; 0: there was none in time. */
function statusOf(host: string, port: number, timeoutMs: number): Promise<number> {
  return new Promise((resolve) => {
    const asking = http.request(
      { host, port, path: '/v1/status', signal: AbortSignal.timeout(timeoutMs) },
      (answer) => {
        answer.resume();
        resolve(answer.statusCode ?? 0);
      },
    );
    asking.once('error', () => resolve(0));
    asking.end();
  });
}
