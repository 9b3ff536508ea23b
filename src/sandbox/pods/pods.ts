import { Reflector } from '../../kube/watch/reflector.ts';
import { imageName, PODS, type Pod } from './pod.ts';
import { type PodHost, PodProcess } from './pod-process.ts';

export interface PodRunnerOptions extends PodHost {
  /** Only pods of this namespace; all when not given. */
  readonly namespace?: string | undefined;
}

/**
 * Runs the pods of the given images as processes of this machine, until aborted; then it ends them all. Linux only: on
 * macOS an address like 127.3.4.5 does not exist until an administrator adds it.
 */
export async function runPods(options: PodRunnerOptions, signal: AbortSignal): Promise<void> {
  const running = new Map<string, PodProcess>();
  const leaving = new Set<string>();
  const reflector = new Reflector<Pod>(
    options.client,
    PODS,
    { namespace: options.namespace },
    {
      digest: (object) => {
        const pod = object as Pod;
        const ours = pod.spec.containers.some(({ image }) => options.images.includes(imageName(image)));
        return ours && pod.spec.nodeName ? pod : undefined;
      },
    },
  );

  const inBackground = (work: Promise<void>) => {
    work.catch((error: unknown) => options.say((error as Error).message));
  };
  const leave = (pod: Pod, graceSeconds: number) => {
    const { uid } = pod.metadata;
    if (leaving.has(uid)) return;
    leaving.add(uid);
    // A pod that was never started here still waits for somebody to let it go.
    const process = running.get(uid) ?? new PodProcess(options, pod);
    inBackground(process.delete(graceSeconds));
  };
  const seen = (pod: Pod) => {
    const { uid, deletionTimestamp, deletionGracePeriodSeconds = 30 } = pod.metadata;
    if (deletionTimestamp !== undefined) return leave(pod, deletionGracePeriodSeconds);
    if (running.has(uid) || isOver(pod)) return;
    const process = new PodProcess(options, pod);
    running.set(uid, process);
    process.start();
  };
  const removed = (pod: Pod) => {
    const process = running.get(pod.metadata.uid);
    running.delete(pod.metadata.uid);
    leaving.delete(pod.metadata.uid);
    if (process) inBackground(process.stop(0));
  };

  await reflector.run(signal, (event) => {
    if (event.type === 'add' || event.type === 'change') {
      // A name may have been given to another pod between two events.
      if (event.previous && event.previous.metadata.uid !== event.value.metadata.uid) removed(event.previous);
      seen(event.value);
    } else if (event.type === 'remove') {
      removed(event.previous);
    }
  });
  await Promise.all([...running.values()].map((process) => process.stop(0)));
}

function isOver(pod: Pod): boolean {
  return pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
}
