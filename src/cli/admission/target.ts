import type { Endpoint } from '../../admission/endpoint.ts';
import type { Settings } from '../../config/settings.ts';
import type { Cluster } from '../cluster/cluster-command.ts';
import { rulings } from '../cluster/ruling-settings.ts';

/** Where an Attune serves admission, by which settings, and how we came by them. */
export interface Admission {
  readonly target: Endpoint;
  readonly settings: Settings;
  readonly by: string;
}

/** Flags about one process, which Attune does not publish: they can only be given, and say nothing about the others. */
const OF_A_PROCESS = ['admission-url', 'admission-listen', 'admission-cert-dir'];

/** By the flags given, else by those of the Attune in the cluster, else by the default ones. */
export async function findAdmission(cluster: Cluster): Promise<Admission> {
  const { request, settings: given } = cluster;
  const controller = request.controller.filter((flag) => !OF_A_PROCESS.some((each) => flag.startsWith(`--${each}=`)));
  const home = request.own.get('attune-namespace') ?? request.own.get('namespace');
  const own = home === undefined ? request.own : new Map([...request.own, ['attune-namespace', home]]);
  const [{ by, settings, namespace: found }] = await rulings({ ...cluster, request: { ...request, own, controller } });
  const { url, name } = given.admissionServer;
  const namespace = home ?? (found || settings.ownNamespace || given.ownNamespace);
  return { by, settings, target: { name, namespace, url } };
}

/** The Secret with the certificate of a registration of this name. */
export const secretNameOf = (registration: string): string => `${registration}-cert`;
