import type { KubeObject } from '../../api/objects.ts';
import { PODS } from '../../api/resources.ts';
import { Reflector } from '../../kube/watch/reflector.ts';
import type { Pod } from './pod.ts';
import { isOurs, type PodHost, PodProcess } from './pod-process.ts';
import { serveClaims } from './volume-claims.ts';

/**
 * Runs the pods of the given images, of one namespace or of all, as processes of this machine until aborted, and ends
 * them then. Linux only: on macOS an address like 127.3.4.5 does not exist until an administrator adds it.
 */
export async function runPods(
  options: PodHost & { readonly namespace?: string | undefined },
  signal: AbortSignal,
): Promise<void> {
  const running = new Map<string, PodProcess>();
  const deleting = new Set<string>();
  const digest = (object: KubeObject): Pod | undefined => {
    const pod = object as Pod;
    const ours = pod.spec.containers.some(({ image }) => isOurs(options, image));
    return ours && pod.spec.nodeName ? pod : undefined;
  };
  const reflector = new Reflector<Pod>(options.client, PODS, { namespace: options.namespace }, { digest });

  const inBackground = (work: Promise<void>) => {
    work.catch((error: unknown) => options.say((error as Error).message));
  };
  const remove = (pod: Pod, graceSeconds: number) => {
    const { uid } = pod.metadata;
    if (deleting.has(uid)) return;
    deleting.add(uid);
    // The API server waits for the node to confirm the deletion, also of a pod that was never started.
    inBackground((running.get(uid) ?? new PodProcess(options, pod)).delete(graceSeconds));
  };
  const observed = (pod: Pod) => {
    const { uid, deletionTimestamp, deletionGracePeriodSeconds = 30 } = pod.metadata;
    if (deletionTimestamp !== undefined) return remove(pod, deletionGracePeriodSeconds);
    if (running.has(uid) || pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed') return;
    const process = new PodProcess(options, pod);
    running.set(uid, process);
    process.start();
  };
  const removed = (pod: Pod) => {
    const process = running.get(pod.metadata.uid);
    running.delete(pod.metadata.uid);
    deleting.delete(pod.metadata.uid);
    if (process) inBackground(process.stop(0));
  };

  const claims = serveClaims(options, signal);
  await reflector.run(signal, (event) => {
    if (event.type === 'add' || event.type === 'change') {
      // Between two events a pod may have been deleted and another one created with the same name.
      if (event.previous && event.previous.metadata.uid !== event.value.metadata.uid) removed(event.previous);
      observed(event.value);
    } else if (event.type === 'remove') {
      removed(event.previous);
    }
  });
  await Promise.all([claims, ...Array.from(running.values(), (process) => process.stop(0))]);
}
