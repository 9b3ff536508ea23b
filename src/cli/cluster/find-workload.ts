import { textIn } from '../../api/json.ts';
import { kindNamed, type WorkloadKind } from '../../api/kinds.ts';
import type { KubeObject } from '../../api/objects.ts';
import { REPLICA_SETS, REPLICATION_CONTROLLERS, type Resource } from '../../api/resources.ts';
import { nearest } from '../../config/nearest.ts';
import { controllerOf } from '../../domain/workload/pod.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { isServed } from '../../model/list-all.ts';
import type { Cluster } from './cluster-command.ts';
import type { Target } from './kind-words.ts';
import { mustExist } from './namespace.ts';

/** A workload of the cluster, and how we came to it. */
export interface Found {
  readonly kind: WorkloadKind;
  readonly object: KubeObject;
  readonly notes: readonly string[];
}

type Place = Pick<Cluster, 'client' | 'namespace'>;

/** Kinds between a pod and its workload. */
const BETWEEN: readonly Resource[] = [REPLICA_SETS, REPLICATION_CONTROLLERS];

/** The workload that was named, whoever made it, or the one that made what was named. */
export async function findWorkload(place: Place, target: Target<Resource>): Promise<Found> {
  const named = await findObject(place, target);
  const itself = kindNamed(target.kind.kind);
  if (itself) return { kind: itself, object: named, notes: [] };
  const way: string[] = [];
  let last = { resource: target.kind, object: named };
  for (let next = ownerOf(named); next; next = ownerOf(last.object)) {
    last = { resource: next.kind, object: await findObject(place, next) };
    way.push(`${next.kind.kind} ${next.name}`);
  }
  const kind = kindNamed(last.resource.kind);
  if (!kind) throw new Error(noWorkload(target, last.object));
  return { kind, object: last.object, notes: [`${target.kind.kind} ${target.name} is of ${way.join(', of ')}`] };
}

/** Whoever made an object, if that is something that leads to a workload. */
function ownerOf(object: KubeObject): Target<Resource> | undefined {
  const { apiVersion, kind, name } = controllerOf(object);
  const [group = ''] = textIn(apiVersion).includes('/') ? textIn(apiVersion).split('/') : [''];
  const resource = kindNamed(textIn(kind)) ?? BETWEEN.find((each) => each.kind === kind);
  return resource?.group === group ? { kind: resource, name: textIn(name) } : undefined;
}

function noWorkload({ kind, name }: Target<Resource>, last: KubeObject): string {
  const { kind: owner, name: ownerName } = controllerOf(last);
  if (owner === undefined) return `${kind.kind} ${name} has no owner: what no workload makes is never rolled`;
  return `${kind.kind} ${name} is of ${owner} ${ownerName}, which is no kind of workload that Attune knows`;
}

/** A name that does not exist is usually a slip: say what there is. */
export async function findObject({ client, namespace }: Place, { kind, name }: Target<Resource>): Promise<KubeObject> {
  try {
    return await client.get(kind, { namespace, name });
  } catch (error) {
    if (!KubeError.is(error, 'NotFound', 'Forbidden')) throw error;
    await mustExist(client, namespace);
    if (error.reason === 'Forbidden') throw (await isServed(client, kind)) ? error : notServed(kind, error);
  }
  const names: string[] = [];
  try {
    for await (const page of client.list(kind, { namespace }, { metadataOnly: true })) {
      names.push(...page.items.map(({ metadata }) => metadata.name));
    }
  } catch (error) {
    throw KubeError.is(error, 'NotFound') ? notServed(kind, error) : error;
  }
  throw new Error(`there is no ${kind.kind} ${namespace}/${name}${alternatives(name, names, kind)}`);
}

const notServed = ({ plural, group }: Resource, cause: KubeError): Error =>
  new Error(`this cluster has no ${plural}.${group}`, { cause });

const MAX_NAMES = 10;

function alternatives(name: string, names: readonly string[], { plural }: Resource): string {
  if (names.length === 0) return `, and the namespace has no ${plural}`;
  const guess = nearest(name, names);
  const shown = names.slice(0, MAX_NAMES).join(', ');
  const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : '';
  return `${guess ? `, did you mean ${guess}?` : ''}\nthe ${plural} there: ${shown}${more}`;
}
