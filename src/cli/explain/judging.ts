import { SOURCE_KINDS } from '../../api/sources.ts';
import { Snapshot } from '../../model/snapshot.ts';
import type { Cluster } from '../cluster/cluster-command.ts';
import { namespaceLabels, rulings } from '../cluster/ruling-settings.ts';
import { readLedger } from './ledger-view.ts';
import type { Viewpoint } from './standing.ts';

/** What questions about a namespace are answered with. */
export interface Judging extends Viewpoint {
  readonly by: string;
  /** Of the namespace; undefined: nobody asks for them, or they may not be read. */
  readonly labels: Readonly<Record<string, string>> | undefined;
  /** What could not be read so far, one line each. */
  readonly unread: () => readonly string[];
}

/** By the settings that rule this namespace. */
export async function beginJudging(cluster: Cluster): Promise<Judging> {
  const { client, namespace, settings: own } = cluster;
  const [{ by, settings, namespace: home }] = await rulings(cluster, namespace);
  const ledger = await readLedger(client, settings, own.ownNamespace || settings.ownNamespace || home);
  const snapshot = new Snapshot({ client, namespace, policy: settings, key: ledger.key });
  const { enableCsiIntegration: withClasses } = settings;
  await snapshot.readSources(SOURCE_KINDS.filter((kind) => withClasses || kind !== 'SecretProviderClass'));
  if (withClasses) await snapshot.readClasses();
  const labels = await namespaceLabels(client, namespace, [{ settings }]);
  const unread = () => snapshot.forbidden.map((plural) => `you may not list ${plural} in namespace ${namespace}`);
  return { by, settings, ledger, snapshot, labels, unread, nowMs: client.serverNow() };
}
