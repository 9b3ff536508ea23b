import { NAMESPACES } from '../../api/resources.ts';
import type { ParsedSettings } from '../../config/parse-settings.ts';
import type { Settings } from '../../config/settings.ts';
import { namespaceNotWatchedBecause } from '../../domain/watch-scope.ts';
import type { KubeClient } from '../../kube/client.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { visible } from '../../runtime/visible.ts';
import { type AttuneInfo, describeInfo, INFO_NAME, publishedSettings } from '../info/attune-info.ts';
import { type FoundInfos, findInfos, findInfosIn } from '../info/find-info.ts';
import type { Cluster } from './cluster-command.ts';
import { type Deployed, findDeployed } from './deployed.ts';

/** Settings to go by, and how we came by them. */
export interface Ruling {
  readonly by: string;
  readonly settings: Settings;
  /** Of the Attune that has them. */
  readonly namespace?: string;
}

/** Where Attune and its predecessor usually are. */
const USUAL = ['attune', 'reloader'];

/**
 * The flags given, else those of every Attune, the one for this namespace first, else the defaults. An Attune is known by
 * what it publishes, wherever it runs; one that publishes nothing, by its Deployment.
 */
export async function rulings(
  { client, request, settings, namespace: here }: Pick<Cluster, 'client' | 'request' | 'settings' | 'namespace'>,
  namespace?: string,
): Promise<readonly [Ruling, ...Ruling[]]> {
  if (request.controller.length > 0) return [{ by: 'the flags given', settings }];
  const asked = request.own.get('attune-namespace');
  const deployed = await findDeployed(client, asked);
  const named = [settings.ownNamespace, ...(deployed ?? []).map(homeOf), here, ...USUAL].filter((name) => name !== '');
  const found = await (asked === undefined ? findInfos(client, [...new Set(named)]) : findInfosIn(client, [asked]));
  const read = found.infos.toSorted((a, b) => b.publishedAt.localeCompare(a.publishedAt)).map(byInfo);
  const others = (deployed ?? []).filter((each) => !found.infos.some((info) => isOf(info, each)));
  const all = [...read, ...others.map(byDeployment)];
  const known = all.filter((each) => typeof each === 'object');
  // Only needed where several could be meant.
  const isOneOfMany = namespace !== undefined && known.length > 1;
  const labels = isOneOfMany ? await namespaceLabels(client, namespace, known) : undefined;
  const [first, ...rest] = known.toSorted((a, b) => distance(a, namespace, labels) - distance(b, namespace, labels));
  if (first) return [first, ...rest];
  const [problem] = all.filter((each) => typeof each === 'string');
  return [{ by: `the default flags: ${problem ?? whyNone(asked, found, deployed !== undefined)}`, settings }];
}

const homeOf = ({ parsed, namespace }: Deployed): string => (parsed.ok && parsed.settings.ownNamespace) || namespace;

/** Published by a pod of this Deployment. */
const isOf = (info: AttuneInfo, deployed: Deployed): boolean =>
  info.namespace === homeOf(deployed) && info.identity.startsWith(`${deployed.name}-`);

function byInfo(info: AttuneInfo): Ruling | string {
  const where = `in ConfigMap ${info.namespace}/${INFO_NAME}, of Attune ${info.version},`;
  return asRuling(publishedSettings(info), info.namespace, describeInfo(info), where);
}

function byDeployment({ namespace, name, parsed }: Deployed): Ruling | string {
  const where = `of Deployment ${namespace}/${name}`;
  return asRuling(parsed, namespace, `the flags ${where}`, where);
}

/** A string says why these flags cannot be used. Anybody may write the quoted text, so it is made visible. */
function asRuling(parsed: ParsedSettings, namespace: string, by: string, where: string): Ruling | string {
  if (parsed.ok) return { by: visible(by), settings: parsed.settings, namespace };
  return visible(`those ${where} are not understood here: ${parsed.problems.join('; ')}`);
}

function whyNone(asked: string | undefined, { lookedInto, forbidden }: FoundInfos, mayList: boolean): string {
  const [place] = forbidden;
  if (asked !== undefined) {
    if (place === undefined) return `there is no ConfigMap ${INFO_NAME} in namespace ${asked}`;
    return `you may not read ConfigMap ${asked}/${INFO_NAME}, which has those of Attune; give them here`;
  }
  if (!lookedInto) return 'no Attune was found in the cluster';
  const tried = mayList ? 'no Deployment is an Attune' : 'you may not look for Attune';
  const where = `no ConfigMap ${INFO_NAME} can be read in ${lookedInto.join(', ')}`;
  return `${tried}, and ${where}; say with --attune-namespace where it is, or give its flags here`;
}

/** One that was told to watch a namespace knows better than one that watches them all. */
function distance({ settings }: Ruling, namespace: string | undefined, labels: Labels | undefined): number {
  const { mode } = settings.scope;
  if (namespace !== undefined && namespaceNotWatchedBecause(namespace, labels, settings).length > 0) return 2;
  return mode === 'global' ? 1 : namespace === undefined ? 2 : 0;
}

type Labels = Readonly<Record<string, string>>;

/** Of a namespace; undefined: none of these settings chooses by them, or they may not be read. */
export async function namespaceLabels(
  client: KubeClient,
  name: string,
  by: readonly Pick<Ruling, 'settings'>[],
): Promise<Labels | undefined> {
  if (!by.some(({ settings: { scope } }) => scope.mode === 'global' && scope.selector !== undefined)) return undefined;
  try {
    return (await client.get(NAMESPACES, { name })).metadata.labels ?? {};
  } catch (error) {
    if (!KubeError.is(error, 'Forbidden', 'NotFound')) throw error;
    return undefined;
  }
}
