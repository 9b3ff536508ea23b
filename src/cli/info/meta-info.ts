import { CONFIG_MAPS } from '../../api/resources.ts';
import type { Settings } from '../../config/settings.ts';
import type { KubeClient } from '../../kube/client.ts';
import { KubeError } from '../../kube/kube-error.ts';
import type { Log } from '../../telemetry/log.ts';
import { metaInfo } from '../../telemetry/meta-info.ts';
import { VERSION } from '../version.ts';

const NAME = 'reloader-meta-info';

/** Writes down what runs here and how it is set, as upstream does; tools read it. */
export async function publishMetaInfo(client: KubeClient, settings: Settings, log: Log): Promise<void> {
  const namespace = settings.metaInfoNamespace;
  if (namespace === '') return;
  const build = { version: VERSION, commit: '', commitTime: '', nodeVersion: process.version };
  const body = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: NAME, namespace, labels: { 'reloader.stakater.com/meta-info': 'reloader' } },
    data: metaInfo(settings, build),
  };
  try {
    await write(client, namespace, body);
  } catch (error) {
    log.warn(`${NAME} was not written: ${error instanceof Error ? error.message : String(error)}`);
  }
}

async function write(client: KubeClient, namespace: string, body: unknown): Promise<void> {
  try {
    await client.replace(CONFIG_MAPS, { namespace, name: NAME }, body);
  } catch (error) {
    if (!KubeError.is(error, 'NotFound')) throw error;
    await client.create(CONFIG_MAPS, namespace, body);
  }
}
