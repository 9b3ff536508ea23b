import { setTimeout as delay } from 'node:timers/promises';
import { listIn, objectAt, objectIn, textIn } from '../../api/json.ts';
import type { KubeObject } from '../../api/objects.ts';
import { PODS } from '../../api/resources.ts';
import { isMarkVariable } from '../../domain/template/marks.ts';
import type { KubeClient } from '../../kube/client.ts';
import { DEMO, type DemoWorkload } from './demo.ts';

const INTERVAL_MS = 100;
const DEADLINE_MS = 60_000;

/** The pods of a workload by uid, each with the marks in its spec. */
export type PodMarks = ReadonlyMap<string, readonly string[]>;

/** Waits until the rollout is complete and every pod of `before` is gone, as the cluster itself says. */
export async function waitForRollout(
  client: KubeClient,
  workload: DemoWorkload,
  before: PodMarks | undefined,
  signal: AbortSignal,
): Promise<PodMarks> {
  const { kind, name, replicas } = workload;
  const deadline = performance.now() + DEADLINE_MS;
  for (;;) {
    const object = await client.get(kind, { namespace: DEMO, name });
    const pods = await podsOf(client, name);
    const isNew = pods.size === replicas && ![...pods.keys()].some((uid) => before?.has(uid));
    if (isNew && isComplete(object, replicas)) return pods;
    if (performance.now() > deadline) throw new Error(`${kind.kind} ${DEMO}/${name} did not roll out within a minute`);
    await delay(INTERVAL_MS, undefined, { signal });
  }
}

function isComplete(object: KubeObject, replicas: number): boolean {
  const { observedGeneration, updatedReplicas, readyReplicas, replicas: all } = objectAt(object, ['status']);
  return (
    Number(observedGeneration) >= (object.metadata.generation ?? 0) &&
    [updatedReplicas, readyReplicas, all].every((count) => count === replicas)
  );
}

async function podsOf(client: KubeClient, name: string): Promise<PodMarks> {
  const pods = new Map<string, readonly string[]>();
  for await (const page of client.list(PODS, { namespace: DEMO, labelSelector: `app=${name}` })) {
    for (const pod of page.items) pods.set(pod.metadata.uid, marksOf(pod));
  }
  return pods;
}

function marksOf(pod: KubeObject): readonly string[] {
  const containers = listIn(objectAt(pod, ['spec'])['containers']);
  return containers
    .flatMap((container) => listIn(objectIn(container)['env']))
    .filter(isMarkVariable)
    .map((variable) => textIn(objectIn(variable)['name']));
}
