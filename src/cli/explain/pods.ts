import { listIn, objectAt, objectIn, textIn } from '../../api/json.ts';
import { type KindName, kindNamed, type WorkloadKind } from '../../api/kinds.ts';
import type { KubeObject } from '../../api/objects.ts';
import { PODS, REPLICA_SETS, REPLICATION_CONTROLLERS, type Resource } from '../../api/resources.ts';
import { selectorText } from '../../domain/text/selector.ts';
import { beganAt, isRunning } from '../../domain/workload/pod-age.ts';
import type { KubeClient, ListScope } from '../../kube/client.ts';
import { listAll } from '../../model/list-all.ts';

/** When the running pods of a workload began, in milliseconds; or why that is not known. */
export type Pods = { readonly began: readonly number[] } | { readonly unknown: string };

type Uids = ReadonlySet<string>;

const JOBS = kindNamed('Job') as WorkloadKind;

/** The kind between a workload and its pods, where there is one. */
const BETWEEN: Readonly<Partial<Record<KindName, Resource>>> = {
  Deployment: REPLICA_SETS,
  Rollout: REPLICA_SETS,
  DeploymentConfig: REPLICATION_CONTROLLERS,
};

/**
 * The pods of a workload, by who made them: labels alone may be those of another. `owners`: the workload itself, and whoever
 * has borrowed its template.
 */
export async function podsOf(client: KubeClient, kind: WorkloadKind, object: KubeObject, owners: Uids): Promise<Pods> {
  const { namespace } = object.metadata;
  if (kind.kind === 'CronJob') return await podsOfRuns(client, namespace, owners);
  const labelSelector = selectorText(objectAt(object, ['spec'])['selector']);
  if (labelSelector === '') return { unknown: 'it has no selector for its pods' };
  const scope = { namespace, labelSelector };
  const between = BETWEEN[kind.kind];
  const made = between && (await listAll(client, between, scope, true));
  if (between && !made) return unlisted(between, namespace);
  return await podsIn(client, scope, made ? uidsOf(made.filter(isOf(owners))) : owners);
}

/** Those of a CronJob come from the Jobs that are running. */
async function podsOfRuns(client: KubeClient, namespace: string | undefined, owners: Uids): Promise<Pods> {
  const jobs = await listAll(client, JOBS, { namespace });
  if (!jobs) return unlisted(JOBS, namespace);
  const runs = jobs.filter(isOf(owners)).filter(isActive);
  if (runs.length === 0) return { began: [] };
  const labelSelector = `job-name in (${runs.map(({ metadata }) => metadata.name).join(',')})`;
  return await podsIn(client, { namespace, labelSelector }, uidsOf(runs));
}

async function podsIn(client: KubeClient, scope: ListScope, makers: Uids): Promise<Pods> {
  const pods = await listAll(client, PODS, scope);
  return pods ? { began: pods.filter(isOf(makers)).filter(isRunning).map(beganAt) } : unlisted(PODS, scope.namespace);
}

const unlisted = ({ plural }: Resource, namespace: string | undefined): Pods => ({
  unknown: `you may not list ${plural} in namespace ${namespace}`,
});

const uidsOf = (objects: readonly KubeObject[]): Uids => new Set(objects.map(({ metadata }) => metadata.uid));

const isActive = (job: KubeObject): boolean => Number(objectAt(job, ['status'])['active'] ?? 0) > 0;

const isOf =
  (owners: Uids) =>
  (object: KubeObject): boolean =>
    owners.has(textIn(controllerOf(object)['uid']));

/** Who made an object, as its reference says; empty if nobody did. */
export function controllerOf(object: KubeObject): Readonly<Record<string, unknown>> {
  const owners = listIn(objectIn(object.metadata)['ownerReferences']).map(objectIn);
  return owners.find(({ controller }) => controller === true) ?? {};
}
