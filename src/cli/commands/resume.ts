import { FIELD_MANAGER } from '../../api/field-manager.ts';
import { kindNamed, type WorkloadKind } from '../../api/kinds.ts';
import type { KubeObject } from '../../api/objects.ts';
import { NAMESPACES } from '../../api/resources.ts';
import { patchOf } from '../../domain/template/patch.ts';
import { parseWorkload } from '../../domain/workload/parse-workload.ts';
import type { Workload } from '../../domain/workload/workload.ts';
import type { ListScope } from '../../kube/client.ts';
import { KubeError, unlessAbsent } from '../../kube/kube-error.ts';
import { type Cluster, clusterCommand, clusterUsage, refusedOperands } from '../cluster/cluster-command.ts';
import { mustExist } from '../cluster/namespace.ts';
import { rulings } from '../cluster/ruling-settings.ts';

const USAGE = `attune resume [-n NAMESPACE] [flags of the controller]

Ends every pause that a reloader began, now: in one namespace, or in all that the controller's flags let it see. Goes by
the flags given, else by those of every Attune in the cluster. A Deployment that somebody else paused is left alone.
Running it again is harmless. Ends with 0 when no such pause is left.
${clusterUsage('all namespaces that the flags let it see')}`;

const DEPLOYMENTS = kindNamed('Deployment') as WorkloadKind;
// Somebody else writes to the Deployment at the same time; nobody does so for long.
const MAX_CONFLICTS = 10;

/** `attune resume`: for the time after us, when nobody would be left to end a pause. */
export const run = clusterCommand({
  name: 'resume',
  usage: USAGE,
  read: (request) => refusedOperands(request) ?? { only: request.own.get('namespace') },
  run: ({ only }, cluster) => resumeAll(cluster, only),
});

type Task = Pick<Cluster, 'client' | 'settings' | 'io'>;
type Count = Record<Result, number>;

async function resumeAll(cluster: Cluster, only: string | undefined): Promise<number> {
  const { client, io } = cluster;
  if (only !== undefined) await mustExist(client, only);
  const count: Count = { resumed: 0, failed: 0, 'not ours': 0 };
  const [first, ...others] = await rulings(cluster, only);
  for (const { by, settings } of only === undefined ? [first, ...others] : [first]) {
    io.stderr(`by ${by}\n`);
    await resumeBy({ client, settings, io }, only, count);
  }
  io.stdout(`${summary(count)}\n`);
  return count.failed === 0 ? 0 : 1;
}

async function resumeBy(task: Task, only: string | undefined, count: Count): Promise<void> {
  for (const scope of await scopesOf(task, only)) {
    for await (const page of task.client.list(DEPLOYMENTS, scope)) {
      for (const object of page.items) count[await resumeOne(task, parse(task, object))] += 1;
    }
  }
}

function summary({ resumed, failed }: Count): string {
  if (failed > 0) return `${resumed} resumed, ${failed} still paused`;
  return resumed > 0 ? `${resumed} resumed` : 'nothing was paused by a reloader';
}

/** Where the controller looks; ignored namespaces are left out by the server. */
async function scopesOf({ client, settings }: Task, only: string | undefined): Promise<readonly ListScope[]> {
  const { scope } = settings;
  if (only !== undefined) return [{ namespace: only }];
  if (scope.mode === 'namespaces') return scope.namespaces.map((namespace) => ({ namespace }));
  const ignored = { fieldSelector: scope.ignore.map((namespace) => `metadata.namespace!=${namespace}`).join(',') };
  if (scope.selector === undefined) return [scope.ignore.length > 0 ? ignored : {}];
  const scopes: ListScope[] = [];
  for await (const page of client.list(NAMESPACES, { labelSelector: scope.selector }, { metadataOnly: true })) {
    for (const { metadata } of page.items)
      if (!scope.ignore.includes(metadata.name)) scopes.push({ namespace: metadata.name });
  }
  return scopes;
}

type Result = 'resumed' | 'failed' | 'not ours';

/** Only a reloader writes the mark, so it tells our pause from a user's. */
async function resumeOne(task: Task, found: Workload): Promise<Result> {
  let workload = found;
  for (let conflicts = 0; conflicts < MAX_CONFLICTS; conflicts += 1) {
    if (!workload.paused || workload.annotations[task.settings.keys.pausedAt] === undefined) return 'not ours';
    const result = await tryToResume(task, workload);
    if (result !== 'conflict') return result;
    const newest = await task.client.get(DEPLOYMENTS, workload.ref).catch(unlessAbsent);
    if (!newest) return 'not ours';
    workload = parse(task, newest);
  }
  task.io.stderr(`Deployment ${found.ref.namespace}/${found.ref.name} is still paused: others keep writing to it\n`);
  return 'failed';
}

async function tryToResume({ client, settings, io }: Task, workload: Workload): Promise<Result | 'conflict'> {
  const { namespace, name } = workload.ref;
  const { type, body } = patchOf(DEPLOYMENTS, workload, undefined, { keys: settings.keys, resume: true });
  try {
    await client.patch(DEPLOYMENTS, workload.ref, body, { type, fieldManager: FIELD_MANAGER });
    io.stdout(`Deployment ${namespace}/${name} resumed\n`);
    return 'resumed';
  } catch (error) {
    if (!KubeError.is(error)) throw error;
    if (error.status === 404) return 'not ours';
    if (error.status === 409) return 'conflict';
    io.stderr(`Deployment ${namespace}/${name} is still paused: ${error.message}\n`);
    return 'failed';
  }
}

function parse({ settings }: Task, object: KubeObject): Workload {
  const { keys, compat, sapCompat } = settings;
  return parseWorkload(DEPLOYMENTS, object, { keys, compat, sapCompat, digest: () => '' });
}
