import { objectAt } from '../../api/json.ts';
import { kindNamed, type WorkloadKind } from '../../api/kinds.ts';
import type { KubeObject } from '../../api/objects.ts';
import { PODS, type Resource } from '../../api/resources.ts';
import { selectorText } from '../../domain/text/selector.ts';
import { beganAt, isRunning } from '../../domain/workload/pod-age.ts';
import type { KubeClient, ListScope } from '../../kube/client.ts';
import { listAll } from '../../model/list-all.ts';
import { isOf, makersOf, type Uids, uidsOf } from '../../model/pod-makers.ts';

/** When the running pods of a workload began, in milliseconds; or why that is not known. */
export type Pods = { readonly began: readonly number[] } | { readonly unknown: string };

const JOBS = kindNamed('Job') as WorkloadKind;

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
  const makers = await makersOf(client, kind, scope, owners);
  return 'uids' in makers ? await podsIn(client, scope, makers.uids) : unlisted(makers.unlisted, namespace);
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

const isActive = (job: KubeObject): boolean => Number(objectAt(job, ['status'])['active'] ?? 0) > 0;
