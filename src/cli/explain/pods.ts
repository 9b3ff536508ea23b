import { listIn, objectAt, objectIn, textIn } from '../../api/json.ts';
import { type KindName, kindNamed, type WorkloadKind } from '../../api/kinds.ts';
import type { KubeObject } from '../../api/objects.ts';
import { PODS, REPLICA_SETS, REPLICATION_CONTROLLERS, type Resource } from '../../api/resources.ts';
import { selectorText } from '../../domain/text/selector.ts';
import { beganAt, isRunning } from '../../domain/workload/pod-age.ts';
import type { KubeClient, ListScope } from '../../kube/client.ts';
import { KubeError } from '../../kube/kube-error.ts';

/** When the running pods of a workload began, in milliseconds; or why that is not known. */
export type Pods = { readonly began: readonly number[] } | { readonly unknown: string };

const JOBS = kindNamed('Job') as WorkloadKind;

/** What stands between a workload and its pods. */
const BETWEEN: Readonly<Partial<Record<KindName, Resource>>> = {
  Deployment: REPLICA_SETS,
  Rollout: REPLICA_SETS,
  DeploymentConfig: REPLICATION_CONTROLLERS,
};

/**
 * The pods of a workload, by who made them: labels alone may be those of another. `owners`: the workload itself, and whoever
 * has borrowed its template.
 */
export async function podsOf(
  client: KubeClient,
  kind: WorkloadKind,
  object: KubeObject,
  owners: ReadonlySet<string>,
): Promise<Pods> {
  const { namespace } = object.metadata;
  try {
    if (kind.kind === 'CronJob') return await podsOfRuns(client, namespace, owners);
    const labelSelector = selectorText(objectAt(object, ['spec'])['selector']);
    if (labelSelector === '') return { unknown: 'it has no selector for its pods' };
    const between = BETWEEN[kind.kind];
    const makers = between
      ? uidsOf((await listAll(client, between, { namespace, labelSelector }, true)).filter(isOf(owners)))
      : owners;
    return { began: began(await listAll(client, PODS, { namespace, labelSelector }), makers) };
  } catch (error) {
    if (!(error instanceof Unlistable)) throw error;
    return { unknown: `you may not list ${error.plural} in namespace ${namespace}` };
  }
}

/** Those of a CronJob come from the Jobs that are running. */
async function podsOfRuns(
  client: KubeClient,
  namespace: string | undefined,
  owners: ReadonlySet<string>,
): Promise<Pods> {
  const runs = (await listAll(client, JOBS, { namespace })).filter(isOf(owners)).filter(isActive);
  if (runs.length === 0) return { began: [] };
  const labelSelector = `job-name in (${runs.map(({ metadata }) => metadata.name).join(',')})`;
  return { began: began(await listAll(client, PODS, { namespace, labelSelector }), uidsOf(runs)) };
}

const began = (pods: readonly KubeObject[], makers: ReadonlySet<string>): readonly number[] =>
  pods.filter(isOf(makers)).filter(isRunning).map(beganAt);

const uidsOf = (objects: readonly KubeObject[]): ReadonlySet<string> =>
  new Set(objects.map(({ metadata }) => metadata.uid));

const isActive = (job: KubeObject): boolean => Number(objectAt(job, ['status'])['active'] ?? 0) > 0;

const isOf =
  (owners: ReadonlySet<string>) =>
  (object: KubeObject): boolean =>
    owners.has(textIn(controllerOf(object)['uid']));

/** Who made an object, as its reference says; empty if nobody did. */
export function controllerOf(object: KubeObject): Readonly<Record<string, unknown>> {
  const owners = listIn(objectIn(object.metadata)['ownerReferences']).map(objectIn);
  return owners.find(({ controller }) => controller === true) ?? {};
}

class Unlistable extends Error {
  readonly plural: string;

  constructor(plural: string, options: ErrorOptions) {
    super(`${plural} may not be listed`, options);
    this.plural = plural;
  }
}

async function listAll(client: KubeClient, resource: Resource, scope: ListScope, metadataOnly = false) {
  const objects: KubeObject[] = [];
  try {
    for await (const page of client.list(resource, scope, { metadataOnly })) {
      if (page.fresh) objects.length = 0;
      objects.push(...page.items);
    }
  } catch (error) {
    if (KubeError.is(error, 'Forbidden')) throw new Unlistable(resource.plural, { cause: error });
    throw error;
  }
  return objects;
}
