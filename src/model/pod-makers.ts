import { textIn } from '../api/json.ts';
import type { KindName, WorkloadKind } from '../api/kinds.ts';
import type { KubeObject } from '../api/objects.ts';
import { REPLICA_SETS, REPLICATION_CONTROLLERS, type Resource } from '../api/resources.ts';
import { controllerOf } from '../domain/workload/pod.ts';
import type { KubeClient, ListScope } from '../kube/client.ts';
import { listAll } from './list-all.ts';

export type Uids = ReadonlySet<string>;

/** The kind between a workload and its pods, where there is one. */
const BETWEEN: Readonly<Partial<Record<KindName, Resource>>> = {
  Deployment: REPLICA_SETS,
  Rollout: REPLICA_SETS,
  DeploymentConfig: REPLICATION_CONTROLLERS,
};

/**
 * Whose pods are those of a workload, by who made them: labels alone may be those of another. `owners`: the workload itself,
 * and whoever has borrowed its template. `unlisted`: what may not be listed, so that it is not known.
 */
export async function makersOf(
  client: KubeClient,
  kind: WorkloadKind,
  scope: ListScope,
  owners: Uids,
): Promise<{ readonly uids: Uids } | { readonly unlisted: Resource }> {
  const between = BETWEEN[kind.kind];
  if (!between) return { uids: owners };
  // A ReplicationController has labels of its own: those of its pods select none.
  const { namespace } = scope;
  const made = await listAll(client, between, between === REPLICATION_CONTROLLERS ? { namespace } : scope, true);
  return made ? { uids: uidsOf(made.filter(isOf(owners))) } : { unlisted: between };
}

export const uidsOf = (objects: readonly KubeObject[]): Uids => new Set(objects.map(({ metadata }) => metadata.uid));

export const isOf =
  (owners: Uids) =>
  (object: KubeObject): boolean =>
    owners.has(textIn(controllerOf(object)['uid']));
