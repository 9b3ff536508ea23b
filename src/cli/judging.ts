import { NAMESPACES } from '../api/resources.ts';
import type { Settings } from '../config/settings.ts';
import type { KubeClient } from '../kube/client.ts';
import { KubeError } from '../kube/kube-error.ts';
import type { Cluster } from './cluster-command.ts';
import { ClusterView } from './cluster-view.ts';
import type { Viewpoint } from './explanation.ts';
import { findInstallations } from './installation.ts';
import { readLedger } from './ledger-view.ts';

/** By which settings questions are answered, and how we came by them. */
export interface Judging extends Viewpoint {
  readonly by: string;
  /** Of the namespace; undefined: nobody asks for them, or they may not be read. */
  readonly labels: Readonly<Record<string, string>> | undefined;
}

/** The flags given, else those of the Attune that watches this namespace, else the defaults. */
export async function beginJudging({ client, namespace, request, settings: own }: Cluster): Promise<Judging> {
  const chosen = request.controller.length > 0 ? { by: 'the flags given' } : await installed(client, namespace);
  const settings = chosen.settings ?? own;
  const ledger = await readLedger(client, settings, own.ownNamespace || settings.ownNamespace || chosen.namespace);
  const view = new ClusterView(client, namespace, settings, ledger.digest);
  await view.readSources(settings.enableCsiIntegration);
  const labels = await namespaceLabels(client, namespace, settings);
  return { by: chosen.by, settings, ledger, view, labels, nowMs: Date.now() };
}

async function installed(
  client: KubeClient,
  namespace: string,
): Promise<{ readonly by: string; readonly settings?: Settings; readonly namespace?: string }> {
  const all = await findInstallations(client);
  // One that was told to watch this namespace knows better than one that watches them all.
  const found =
    all.find(({ settings: { scope } }) => scope.mode === 'namespaces' && scope.namespaces.includes(namespace)) ??
    all.find(({ settings: { scope } }) => scope.mode === 'global') ??
    all[0];
  if (!found) return { by: 'the default flags: no Attune was found in the cluster' };
  return { by: `the flags of Deployment ${found.namespace}/${found.name}`, ...found };
}

async function namespaceLabels(client: KubeClient, name: string, { scope }: Settings) {
  if (scope.mode === 'namespaces' || scope.selector === undefined) return undefined;
  try {
    return (await client.get(NAMESPACES, { name })).metadata.labels ?? {};
  } catch (error) {
    if (!KubeError.is(error, 'Forbidden', 'NotFound')) throw error;
    return undefined;
  }
}
