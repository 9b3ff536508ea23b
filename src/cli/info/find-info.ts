import type { DataObject } from '../../api/objects.ts';
import { CONFIG_MAPS } from '../../api/resources.ts';
import type { KubeClient } from '../../kube/client.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { listAll } from '../../model/list-all.ts';
import { type AttuneInfo, INFO_NAME, readInfo } from './attune-info.ts';

/** What was found, and where we could not look. */
export interface FoundInfos {
  readonly infos: readonly AttuneInfo[];
  /** The namespaces that were looked into by name; undefined: all were listed. */
  readonly lookedInto: readonly string[] | undefined;
  /** Those of them where it may not be read. With few rights, a ConfigMap that does not exist looks the same. */
  readonly forbidden: readonly string[];
}

/** What controllers published, in all namespaces or, where these may not be listed, in the likely ones. */
export async function findInfos(client: KubeClient, likely: readonly string[]): Promise<FoundInfos> {
  const found = await listAll(client, CONFIG_MAPS, { fieldSelector: `metadata.name=${INFO_NAME}` });
  return found ? { infos: found.map(readInfo), lookedInto: undefined, forbidden: [] } : findInfosIn(client, likely);
}

/** The same in these namespaces and nowhere else. */
export async function findInfosIn(client: KubeClient, namespaces: readonly string[]): Promise<FoundInfos> {
  const answers = await Promise.all(namespaces.map((namespace) => read(client, namespace)));
  return {
    infos: answers.filter((answer) => typeof answer === 'object'),
    lookedInto: namespaces,
    forbidden: namespaces.filter((_, at) => answers[at] === 'forbidden'),
  };
}

async function read(client: KubeClient, namespace: string): Promise<AttuneInfo | 'absent' | 'forbidden'> {
  try {
    return readInfo(await client.get<DataObject>(CONFIG_MAPS, { namespace, name: INFO_NAME }));
  } catch (error) {
    if (KubeError.is(error, 'NotFound')) return 'absent';
    if (KubeError.is(error, 'Forbidden')) return 'forbidden';
    throw error;
  }
}
