import type { KubeObject } from '../../api/objects.ts';
import { PODS, REDIS_CLUSTERS } from '../../api/resources.ts';
import { quote } from '../../config/diagnostics.ts';
import { isSubdomain } from '../../domain/text/subdomain.ts';
import type { KubeClient } from '../../kube/client.ts';
import { KubeError, unlessAbsent } from '../../kube/kube-error.ts';
import { type Cluster, clusterCommand, REACH_USAGE } from '../cluster/cluster-command.ts';
import { mustExist } from '../cluster/namespace.ts';
import type { Request } from '../request.ts';
import { printReport } from '../terminal/print-report.ts';
import { type ClusterReport, clusterReport, isFine, podsIn } from './cluster-report.ts';
import { clusterList, clusterText } from './status-text.ts';

const USAGE = `attune redis status [NAME] [-o json]

Tells what the agents of a RedisCluster say in its status: each pod's role, link, offset and keys, how much of the
configuration is applied, how far a new password or certificate is, and below what was refused, what waits for a restart,
and why. Without NAME the only RedisCluster of the namespace, or all of them as a list. Changes nothing. Ends with 0 if all
is as it should be, with 1 if something is wrong, with 2 if it could not tell.

  attune redis status redis -n shop

  -o, --output json           for programs
${REACH_USAGE}`;

const COULD_NOT_TELL = 2;

interface Wanted {
  readonly name: string | undefined;
  readonly json: boolean;
}

/** `attune redis status`. */
export const run = clusterCommand({
  name: 'redis status',
  usage: USAGE,
  read: readWanted,
  run: status,
  failure: COULD_NOT_TELL,
});

function readWanted({ operands, own }: Request): Wanted | string {
  const [given, ...more] = operands;
  const output = own.get('output');
  const name = given?.replace(/^(rediscluster(s|\.redis\.io)?|rdc)\//, '');
  if (more.length > 0) return 'one RedisCluster can be named, or none';
  if (name !== undefined && !isSubdomain(name)) return `${quote(name)} is no name of a RedisCluster`;
  return output === undefined || output === 'json' ? { name, json: output === 'json' } : `-o knows json, not ${output}`;
}

async function status({ name, json }: Wanted, { client, namespace, io, page }: Cluster): Promise<number> {
  const found = name === undefined ? await all(client, namespace) : [await one(client, namespace, name)];
  const reports = await Promise.all(found.map((object) => reportOn(client, object)));
  printReport(io, json, name === undefined ? reports : reports[0], (told) => {
    const clusters = told === undefined ? [] : [told].flat();
    const [first] = clusters;
    if (!first) return `there is no RedisCluster in namespace ${namespace}; -n says where else to look\n`;
    return clusters.length === 1 ? clusterText(first, page, client.serverNow()) : clusterList(clusters, page);
  });
  return reports.length > 0 && reports.every(isFine) ? 0 : 1;
}

async function one(client: KubeClient, namespace: string, name: string): Promise<KubeObject> {
  const found = await client.get(REDIS_CLUSTERS, { namespace, name }).catch(unlessAbsent);
  if (found) return found;
  // Fails where the kind itself is not known.
  const others = await all(client, namespace);
  const names = others.map(({ metadata }) => metadata.name).join(', ');
  throw new Error(`there is no RedisCluster ${namespace}/${name}${names === '' ? '' : `; there are: ${names}`}`);
}

async function all(client: KubeClient, namespace: string): Promise<readonly KubeObject[]> {
  const found: KubeObject[] = [];
  try {
    for await (const { items } of client.list(REDIS_CLUSTERS, { namespace })) found.push(...items);
  } catch (error) {
    if (!KubeError.is(error, 'NotFound')) throw error;
    const hint = 'apply deploy/redis/rediscluster-crd.yaml, or set attune.redis.enabled in the chart';
    throw new Error(`this cluster does not know RedisClusters: ${hint}`, { cause: error });
  }
  if (found.length === 0) await mustExist(client, namespace);
  return found;
}

/** Which pods there are says which entries are old; who may not look learns everything else. */
async function reportOn(client: KubeClient, object: KubeObject): Promise<ClusterReport> {
  const { namespace } = object.metadata;
  const exists = new Map<string, boolean>();
  await Promise.all(
    podsIn(object).map(async (name) => {
      // An entry may have any name; one that no pod can have belongs to none.
      if (!isSubdomain(name)) return void exists.set(name, false);
      try {
        await client.get(PODS, { namespace, name });
        exists.set(name, true);
      } catch (error) {
        if (KubeError.is(error, 'NotFound')) exists.set(name, false);
        else if (!KubeError.is(error, 'Forbidden')) throw error;
      }
    }),
  );
  return clusterReport(object, (pod) => exists.get(pod));
}
