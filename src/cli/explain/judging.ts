import type { Cluster } from '../cluster/cluster-command.ts';
import { namespaceLabels, rulings } from '../cluster/ruling-settings.ts';
import { ClusterView } from './cluster-view.ts';
import { readLedger } from './ledger-view.ts';
import type { Viewpoint } from './standing.ts';

/** What questions are answered with. */
export interface Judging extends Viewpoint {
  readonly by: string;
  /** Of the namespace; undefined: nobody asks for them, or they may not be read. */
  readonly labels: Readonly<Record<string, string>> | undefined;
}

/** By the settings that rule this namespace. */
export async function beginJudging(cluster: Cluster): Promise<Judging> {
  const { client, namespace, settings: own } = cluster;
  const [{ by, settings, namespace: home }] = await rulings(cluster, namespace);
  const ledger = await readLedger(client, settings, own.ownNamespace || settings.ownNamespace || home);
  const view = new ClusterView(client, namespace, settings, ledger);
  await view.readSources(settings.enableCsiIntegration);
  const labels = await namespaceLabels(client, namespace, settings);
  return { by, settings, ledger, view, labels, nowMs: client.serverNow() };
}
