import { SOURCE_KINDS, type SourceRef } from '../../api/sources.ts';
import type { Settings } from '../../config/settings.ts';
import { type NotWatched, namespaceNotWatchedBecause, sourceNotWatchedBecause } from '../../domain/watch-scope.ts';
import type { WorkloadRef } from '../../domain/workload/workload.ts';
import { type ReadConfig, readConfigs, readConsents } from '../../model/reloader-configs/read-configs.ts';
import { Snapshot } from '../../model/snapshot.ts';
import type { Cluster } from '../cluster/cluster-command.ts';
import { namespaceLabels, rulings } from '../cluster/ruling-settings.ts';
import { readLedger } from './ledger-view.ts';
import type { Viewpoint } from './standing.ts';

/** What questions about a namespace are answered with. */
export interface Judging extends Viewpoint {
  readonly by: string;
  /** Of a namespace; undefined: nobody asks for them, or they may not be read. */
  readonly labelsOf: (namespace: string) => Readonly<Record<string, string>> | undefined;
  /** All ReloaderConfigs that could be listed, also those that the controller does not follow. */
  readonly configs: readonly ReadConfig[];
  /** What could not be read so far, one line each. */
  readonly unread: () => readonly string[];
}

/** By the settings that rule this namespace. */
export async function beginJudging(cluster: Cluster): Promise<Judging> {
  const { client, namespace, settings: given } = cluster;
  const [{ by, settings, namespace: home }] = await rulings(cluster, namespace);
  const ledger = await readLedger(client, settings, given.ownNamespace || settings.ownNamespace || home);
  const snapshot = new Snapshot({ client, namespace, policy: settings, configs: settings, key: ledger.key });
  const configs = await readAllConfigs(cluster, settings, snapshot);
  const { enableCsiIntegration: withClasses } = settings;
  await snapshot.readSources(SOURCE_KINDS.filter((kind) => withClasses || kind !== 'SecretProviderClass'));
  if (withClasses) await snapshot.readClasses();
  const own = await namespaceLabels(client, namespace, [{ settings }]);
  return {
    ...{ by, settings, ledger, snapshot, configs: configs.read, nowMs: client.serverNow() },
    labelsOf: (name) => (name === namespace ? own : snapshot.configs.consents.labelsOf(name)),
    unread: () => [
      ...snapshot.forbidden.map((each) => `you may not list ${each.plural} in namespace ${each.namespace}`),
      ...configs.unread,
    ],
  };
}

/** Those that the controller follows are asked like annotations; the others are only known. */
async function readAllConfigs({ client, namespace }: Cluster, settings: Settings, { configs }: Snapshot) {
  const asking = {
    namespace,
    ignoreKey: settings.keys.ignore,
    readsNamespaces: settings.scope.mode === 'global',
    isOpenByFlag: settings.allowReloads.has(namespace),
  };
  const { read, unread } = await readConfigs(client, asking);
  for (const { config } of read) if (whyNotFollowed(config.ref.namespace, settings) === undefined) configs.put(config);
  return { read, unread: [...unread, ...(await readConsents(client, configs, asking))] };
}

/** Undefined: the ReloaderConfigs of this namespace are followed. */
export function whyNotFollowed(namespace: string, settings: Settings): string | undefined {
  if (!settings.reloaderConfig) return '--reloader-config=false';
  // Labels of namespaces choose workloads, not those who ask.
  return namespaceNotWatchedBecause(namespace, undefined, settings)[0]?.rule;
}

/** Why the controller does not see a source; its namespace counts where that is not the workload's. */
export function sourceUnseenBecause(
  ref: SourceRef,
  workload: WorkloadRef,
  { snapshot, settings, labelsOf }: Judging,
): readonly NotWatched[] {
  const { namespace } = ref;
  const elsewhere =
    namespace === workload.namespace ? [] : namespaceNotWatchedBecause(namespace, labelsOf(namespace), settings);
  return [...elsewhere, ...sourceNotWatchedBecause(ref, snapshot.facts(ref).labels, settings)];
}
