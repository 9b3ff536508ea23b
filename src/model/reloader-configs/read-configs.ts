import type { KubeObject } from '../../api/objects.ts';
import { NAMESPACES, RELOADER_CONFIGS } from '../../api/resources.ts';
import { namesOthers, type ReloaderConfig } from '../../domain/reloader-config/config.ts';
import { parseReloaderConfig } from '../../domain/reloader-config/parse-config.ts';
import type { KubeClient } from '../../kube/client.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { isServed, listAll } from '../list-all.ts';
import { namespaceFacts } from './consents.ts';
import type { ReloaderConfigs } from './reloader-configs.ts';

/** A ReloaderConfig, with the object as it was written. */
export interface ReadConfig {
  readonly config: ReloaderConfig;
  readonly object: KubeObject;
}

/** Where somebody asks from, and what the controller looks at. */
export interface Asking {
  readonly namespace: string;
  readonly ignoreKey: string;
  /** Whether the controller reads what Namespaces allow, or goes by its flag alone. */
  readonly readsNamespaces: boolean;
  /** Whether that flag lets anybody name what is in the namespace. */
  readonly isOpenByFlag: boolean;
}

/**
 * All ReloaderConfigs that this user may list: those of every namespace, or else of the one that is asked about. `unread`:
 * what is left out, one line each.
 */
export async function readConfigs(
  client: KubeClient,
  asking: Asking,
): Promise<{ readonly read: readonly ReadConfig[]; readonly unread: readonly string[] }> {
  const { namespace, ignoreKey } = asking;
  const everywhere = await listAll(client, RELOADER_CONFIGS, {});
  const objects = everywhere ?? (await listAll(client, RELOADER_CONFIGS, { namespace }));
  const read = (objects ?? []).map((object) => ({ object, config: parseReloaderConfig(object, ignoreKey) }));
  if (everywhere || !(await isServed(client, RELOADER_CONFIGS))) return { read, unread: [] };
  if (objects && !(await mayBeNamed(client, asking))) return { read, unread: [] };
  const whose = objects ? 'of other namespaces' : `in namespace ${namespace}`;
  return { read, unread: [`you may not list reloaderconfigs ${whose}: what they ask for is not known here`] };
}

/** Takes down what namespaces allow, if a ReloaderConfig names another one than its own. Gives back as `unread` above. */
export async function readConsents(
  client: KubeClient,
  configs: ReloaderConfigs,
  { namespace, readsNamespaces }: Asking,
): Promise<readonly string[]> {
  if (!readsNamespaces || ![...configs.values()].some(namesOthers)) return [];
  const all = await listAll(client, NAMESPACES, {}, true);
  for (const object of all ?? (await oneNamespace(client, namespace))) {
    configs.namespaceSeen(object.metadata.name, namespaceFacts(object));
  }
  return all
    ? []
    : ['you may not list namespaces: which of them allow others to name what is in them is not known here'];
}

/** Whether ReloaderConfigs of other namespaces may name what is in this one, as far as can be told. */
async function mayBeNamed(client: KubeClient, { namespace, readsNamespaces, isOpenByFlag }: Asking): Promise<boolean> {
  if (isOpenByFlag || !readsNamespaces) return isOpenByFlag;
  const [own] = await oneNamespace(client, namespace);
  return !own || namespaceFacts(own).allowsFrom.size > 0;
}

async function oneNamespace(client: KubeClient, name: string): Promise<readonly KubeObject[]> {
  try {
    return [await client.get(NAMESPACES, { name })];
  } catch (error) {
    if (!KubeError.is(error, 'Forbidden', 'NotFound')) throw error;
    return [];
  }
}
