import { setTimeout as delay } from 'node:timers/promises';
import { listIn, objectAt, objectIn, textIn } from '../../api/json.ts';
import type { KubeObject } from '../../api/objects.ts';
import type { Resource } from '../../api/resources.ts';
import { isMarkVariable } from '../../domain/template/marks.ts';
import type { KubeClient } from '../../kube/client.ts';
import { DEMO, type DemoWorkload } from './demo.ts';

const PODS: Resource = { group: '', version: 'v1', plural: 'pods', kind: 'Pod', namespaced: true };
const LOOK_MS = 100;
const DEADLINE_MS = 60_000;

/** What the cluster itself says about a workload's pods: never what the controller claims. */
export interface Pods {
  /** By uid, each with the marks that it was started with. */
  readonly marks: ReadonlyMap<string, readonly string[]>;
}

/** Waits until the rollout is complete, and every pod that was there before is gone. */
export async function rolledOut(
  client: KubeClient,
  workload: DemoWorkload,
  before: Pods | undefined,
  signal: AbortSignal,
): Promise<Pods> {
  const { kind, name, replicas } = workload;
  const deadline = performance.now() + DEADLINE_MS;
  for (;;) {
    const object = await client.get(kind, { namespace: DEMO, name });
    const pods = await podsOf(client, name);
    const isNew = pods.size === replicas && ![...pods.keys()].some((uid) => before?.marks.has(uid));
    if (isNew && isComplete(object, replicas)) return { marks: pods };
    if (performance.now() > deadline) throw new Error(`${kind.kind} ${DEMO}/${name} did not roll out within a minute`);
    await delay(LOOK_MS, undefined, { signal });
  }
}

function isComplete(object: KubeObject, replicas: number): boolean {
  const { observedGeneration, updatedReplicas, readyReplicas, replicas: all } = objectAt(object, ['status']);
  return (
    Number(observedGeneration) >= (object.metadata.generation ?? 0) &&
    [updatedReplicas, readyReplicas, all].every((count) => count === replicas)
  );
}

async function podsOf(client: KubeClient, name: string): Promise<ReadonlyMap<string, readonly string[]>> {
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
